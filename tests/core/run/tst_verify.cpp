// SPDX-License-Identifier: Apache-2.0
#include "run/shards.h"
#include "run/verify.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <limits>

using namespace shardwright;
using T = onnx::TensorProto;

namespace {

Buffer floats(std::vector<std::int64_t> dims, std::vector<float> values) {
    auto buffer = Buffer::host(T::FLOAT, std::move(dims));
    std::copy(values.begin(), values.end(), reinterpret_cast<float*>(buffer->data()));
    return *buffer;
}

/// y[2, 2] cut into rows on devices 0 and 1.
RunResult::Output rows(std::vector<float> first, std::vector<float> second) {
    Box top = Box::whole({2, 2}), bottom = top;
    top.dims[0] = IndexSet(0, 1);
    bottom.dims[0] = IndexSet(1, 2);
    return {{},
            "y",
            T::FLOAT,
            {2, 2},
            {{0, top, floats({1, 2}, first)}, {1, bottom, floats({1, 2}, second)}}};
}
RunResult::Output whole(std::vector<float> values) {
    return {
        {}, "y", T::FLOAT, {2, 2}, {{0, Box::whole({2, 2}), floats({2, 2}, std::move(values))}}};
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

class TstVerify : public QObject {
    Q_OBJECT

private slots:
    void equalPiecesAgree() {
        const TensorCheck check = checkTensor(rows({1, 2}, {3, 4}), whole({1, 2, 3, 4}));
        QVERIFY(check.agrees);
        QCOMPARE(check.maxAbs, 0.0);
    }

    void differencesAreRelativeToTheLargestValue() {
        const TensorCheck near = checkTensor(rows({9e-4f, 2}, {3, 100}), whole({0, 2, 3, 100}));
        QVERIFY(near.agrees);
        QVERIFY(std::abs(near.maxRel - 9e-6) < 1e-8);
        const TensorCheck far = checkTensor(rows({1, 2}, {3.1f, 4}), whole({1, 2, 3, 4}));
        QVERIFY(!far.agrees);
        QVERIFY(std::abs(far.maxAbs - 0.1) < 1e-6);
        QCOMPARE(far.note, std::string("differs most on device 1"));
    }

    void tolerancesGrowWithTheLengthOfSums() {
        QVERIFY(tolerance(T::FLOAT, 1) < 1.5e-6);
        QVERIFY(std::abs(tolerance(T::FLOAT, 10000) - tolerance(T::FLOAT, 0) -
                         100 * 8 * std::pow(2.0, -24)) < 1e-12);
        QVERIFY(tolerance(T::FLOAT16, 100) > 1e-2);
        QCOMPARE(tolerance(T::INT8, 10000), 0.0);
    }

    void aToleranceCanBeGiven() {
        QVERIFY(checkTensor(rows({1, 2}, {3.1f, 4}), whole({1, 2, 3, 4}), 0.1).agrees);
        QVERIFY(!checkTensor(rows({1, 2}, {3, 4.0000005f}), whole({1, 2, 3, 4}), 0).agrees);
    }

    void nanAndInfinityMustBeAtTheSamePlaces() {
        QVERIFY(
            checkTensor(rows({kNan, kInfinity}, {3, 4}), whole({kNan, kInfinity, 3, 4})).agrees);
        const TensorCheck check =
            checkTensor(rows({kNan, kInfinity}, {3, 4}), whole({1, -kInfinity, 3, 4}));
        QVERIFY(!check.agrees);
        QCOMPARE(check.note, std::string("2 NaN or infinite values differ (device 0)"));
    }

    void everyCopyIsCompared() {
        auto replicated = whole({1, 2, 3, 4});
        replicated.pieces.push_back({3, Box::whole({2, 2}), floats({2, 2}, {1, 2, 3, 5})});
        const TensorCheck check = checkTensor(replicated, whole({1, 2, 3, 4}));
        QVERIFY(!check.agrees);
        QCOMPARE(check.note, std::string("differs most on device 3"));
    }

    void aHoleIsFound() {
        auto output = rows({1, 2}, {3, 4});
        output.pieces.pop_back();
        const TensorCheck check = checkTensor(output, whole({1, 2, 3, 4}));
        QVERIFY(!check.agrees);
        QCOMPARE(check.note, std::string("its shards are not the whole tensor"));
        QVERIFY(!gather(output));
    }

    void piecesAreGathered() {
        const auto tensor = gather(rows({1, 2}, {3, 4}));
        QVERIFY(tensor);
        QCOMPARE(reinterpret_cast<const float*>(tensor->data())[2], 3.f);
    }

    void integersMustBeExact() {
        RunResult::Output a{{}, "n", T::INT64, {1}, {}}, b = a;
        for (auto* output : {&a, &b}) {
            auto buffer = Buffer::host(T::INT64, {1});
            // Equal as doubles.
            *reinterpret_cast<std::int64_t*>(buffer->data()) =
                (std::int64_t{1} << 60) + (output == &a ? 1 : 0);
            output->pieces.push_back({0, Box::whole({1}), *buffer});
        }
        QVERIFY(!checkTensor(a, b).agrees);
        QVERIFY(checkTensor(a, a).agrees);
    }

    void shardsAreDescribed() {
        const auto output = rows({1, 2}, {3, kNan});
        const RunShard shard = describeShard(output, output.pieces[1], true, 1);
        QCOMPARE(shard.device, 1);
        QCOMPARE(shard.box[0][0], (std::pair<std::int64_t, std::int64_t>{1, 2}));
        QCOMPARE(shard.min, 3.0);
        QCOMPARE(shard.mean, 3.0);
        QCOMPARE(shard.notFinite, 1);
        QCOMPARE(shard.values, std::vector<double>{3.0});
    }

    void shardsAreSavedUnderSafeNames() {
        QTemporaryDir folder;
        auto output = rows({1, 2}, {3, 4});
        output.name = "../m/y:0";
        auto other = output;
        other.name = "../m/y;0";
        const auto saved =
            saveShards((folder.path() + "/shards").toStdString(), {&output, &other}, {});
        QVERIFY2(saved, saved ? "" : saved.error().text().c_str());
        QFile index(folder.filePath("shards/index.json"));
        QVERIFY(index.open(QIODevice::ReadOnly));
        const auto tensors = QJsonDocument::fromJson(index.readAll()).array();
        QCOMPARE(tensors.size(), 2);
        QCOMPARE(tensors[0].toObject()["tensor"].toString(), QString("../m/y:0"));
        const auto shards = tensors[0].toObject()["shards"].toArray();
        QCOMPARE(shards.size(), 2);
        QCOMPARE(shards[1].toObject()["file"].toString(), QString("_.._m_y_0.dev1.npy"));
        QCOMPARE(shards[1].toObject()["box"].toArray()[0].toArray()[0].toArray()[0].toInt(), 1);
        QVERIFY(QFile::exists(folder.filePath("shards/_.._m_y_0.dev1.npy")));
        QVERIFY(QFile::exists(folder.filePath("shards/_.._m_y_0~2.dev1.npy")));
    }
};

QTEST_GUILESS_MAIN(TstVerify)
#include "tst_verify.moc"
