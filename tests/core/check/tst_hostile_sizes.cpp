// SPDX-License-Identifier: Apache-2.0
// Annotations that ask for millions of devices, cells or copies end in a diagnostic, soon.
#include "check/analysis.h"
#include "support/model_builder.h"

#include <QtTest/QTest>

#include <ctime>
#include <limits>

using namespace shardwright;
using namespace shardwright::test;

namespace {

onnx::ShardingSpecProto spec(const std::string& tensor, int axis, int shards, int step = 1) {
    onnx::ShardingSpecProto proto;
    proto.set_tensor_name(tensor);
    for (int shard = 0; shard < shards; ++shard)
        proto.add_device(static_cast<std::int64_t>(shard) * step % shards);
    auto* dim = proto.add_sharded_dim();
    dim->set_axis(axis);
    dim->add_simple_sharding()->set_num_shards(shards);
    return proto;
}

onnx::NodeDeviceConfigurationProto annotation(const std::vector<onnx::ShardingSpecProto>& specs) {
    onnx::NodeDeviceConfigurationProto proto;
    proto.set_configuration_id("c");
    proto.mutable_sharding_spec()->Add(specs.begin(), specs.end());
    return proto;
}

ModelBuilder product(int devices, const std::vector<onnx::ShardingSpecProto>& specs) {
    ModelBuilder builder;
    builder.irVersion(11)
        .configuration("c", devices)
        .input("x", {4096, 4096})
        .input("w", {4096, 4096});
    builder.op("MatMul", {"x", "w"}, {"y"}, "mm").annotate(annotation(specs));
    return builder.output("y");
}

std::shared_ptr<const Analysis> analyse(const Document& document) {
    auto analysis = Analyser().run(document, {});
    return analysis ? *analysis : nullptr;
}

/// Of this process, so that others on the machine do not count.
double secondsSince(std::clock_t begin) {
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

std::vector<std::string> errors(const Analysis& analysis) {
    std::vector<std::string> codes;
    for (const Diagnostic& d : analysis.diagnostics)
        if (d.severity == Severity::Error)
            codes.push_back(d.code);
    return codes;
}

}  // namespace

class TstHostileSizes : public QObject {
    Q_OBJECT

private slots:
    void bytesBeyondAllNumbersAreTheLargestNumber() {
        // Each half has more elements than can be counted.
        constexpr std::int64_t kHuge = std::int64_t{1} << 62;
        auto whole = spec("y", 0, 1);
        whole.add_device(1);
        whole.clear_sharded_dim();
        ModelBuilder builder;
        builder.irVersion(11).configuration("c", 2).input("x", {kHuge, 8});
        builder.op("Relu", {"x"}, {"y"}, "split").annotate(annotation({spec("x", 0, 2)}));
        builder.op("Relu", {"y"}, {"z"}, "whole").annotate(annotation({whole}));
        const auto analysis = analyse(builder.output("z").document());
        QVERIFY(analysis);
        QCOMPARE(analysis->communication.entries.size(), std::size_t(1));
        QCOMPARE(analysis->communication.entries[0].kind, CollectiveKind::AllGather);
        QCOMPARE(analysis->communication.totalBytes, std::numeric_limits<std::int64_t>::max());
        QVERIFY(analysis->communication.entries[0].bytesSentTotal > 0);
    }

    void manyCellsAreAnError() {
        const auto analysis =
            analyse(product(2048, {spec("x", 0, 2048), spec("w", 1, 2048)}).document());
        QCOMPARE(errors(*analysis), std::vector<std::string>{"SW310"});
    }

    void manyCopiesBetweenDevicesAreAnError() {
        const auto analysis =
            analyse(product(4096, {spec("x", 1, 4096), spec("w", 0, 4096)}).document());
        QCOMPARE(errors(*analysis), std::vector<std::string>{"SW310"});
        QCOMPARE(analysis->communication.totalBytes, 0);
    }

    void aThousandDevicesAreNot() {
        const auto analysis =
            analyse(product(1024, {spec("x", 1, 1024), spec("w", 0, 1024)}).document());
        QCOMPARE(errors(*analysis), std::vector<std::string>{});
        QCOMPARE(analysis->communication.entries.size(), 1U);
        QCOMPARE(analysis->communication.entries[0].bytes, std::int64_t{4096} * 4096 * 4);
    }

    void aMillionDevicesAreToldOfSoon() {
        const std::clock_t begin = std::clock();
        const auto analysis =
            analyse(product(1 << 20, {spec("x", 1, 1 << 20), spec("w", 0, 1 << 20)}).document());
        QCOMPARE(errors(*analysis), std::vector<std::string>{"SW310"});
        QVERIFY2(secondsSince(begin) < 20, qPrintable(QString::number(secondsSince(begin))));
    }

    /// Every shard goes to another device, so that each device looks for its pieces among
    /// thousands.
    void aPermutationOfThousandsIsQuick() {
        ModelBuilder builder;
        builder.irVersion(11).configuration("c", 4096).input("x", {1 << 20, 2});
        builder.op("Relu", {"x"}, {"a"}, "r1").annotate(annotation({spec("x", 0, 4096)}));
        builder.op("Relu", {"a"}, {"y"}, "r2").annotate(annotation({spec("a", 0, 4096, 3)}));
        const std::clock_t begin = std::clock();
        const auto analysis = analyse(builder.output("y").document());
        QVERIFY(errors(*analysis).empty());
        QCOMPARE(analysis->communication.byKind().begin()->first, CollectiveKind::Permute);
        QVERIFY2(secondsSince(begin) < 8, qPrintable(QString::number(secondsSince(begin))));
    }

    void aSumOverNoElementsIsSomewhere_data() {
        QTest::addColumn<int>("holder");
        QTest::addColumn<bool>("valid");
        QTest::newRow("on both devices") << -1 << true;
        QTest::newRow("on one device") << 0 << false;
    }
    /// The sums over an axis of size 0 are results: a device must hold what they need.
    void aSumOverNoElementsIsSomewhere() {
        QFETCH(int, holder);
        QFETCH(bool, valid);
        onnx::ShardingSpecProto whole;
        whole.set_tensor_name("x");
        whole.add_device(holder);
        if (holder < 0) {
            auto* group = whole.add_index_to_device_group_map();
            group->set_key(holder);
            group->add_value(0);
            group->add_value(1);
        }
        ModelBuilder builder;
        builder.irVersion(11).configuration("c", 2).input("x", {3, 0, 4}).input("w", {4, 6});
        builder.op("Einsum", {"x", "w"}, {"y"}, "e", {{"equation", "abc,cd->ad"}})
            .annotate(annotation({whole, spec("w", 1, 2)}));
        const auto analysis = analyse(builder.output("y", {3, 6}).document());
        QCOMPARE(errors(*analysis),
                 valid ? std::vector<std::string>{} : std::vector<std::string>{"SW301"});
        if (valid)
            QCOMPARE(analysis->meaning.nodes[0].outputs[0].layout->groups(),
                     (std::vector<DeviceGroup>{{0}, {1}}));
    }
};

QTEST_GUILESS_MAIN(TstHostileSizes)
#include "tst_hostile_sizes.moc"
