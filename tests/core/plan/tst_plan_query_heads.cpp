// SPDX-License-Identifier: Apache-2.0
#include "plan_case.h"

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

constexpr const char* kMs = "com.microsoft";

/// [2, heads, 4, 8] with keys and values of [2, kvHeads, 5, 8].
ModelBuilder apart(int heads, int kvHeads) {
    return ModelBuilder(23)
        .input("q", {2, heads, 4, 8})
        .input("k", {2, kvHeads, 5, 8})
        .input("v", {2, kvHeads, 5, 6})
        .op("Attention", {"q", "k", "v"}, {"y"}, "a")
        .output("y");
}

/// The same with the heads in the width, and a mask. (The kernel takes keys of the past only where
/// those of all are given out.)
ModelBuilder fused(int heads, int kvHeads) {
    return ModelBuilder(23)
        .input("q", {2, 4, heads * 8})
        .input("k", {2, 4, kvHeads * 8})
        .input("v", {2, 4, kvHeads * 8})
        .input("m", {2, heads, 4, 4})
        .op("Attention", {"q", "k", "v", "m"}, {"y"}, "a",
            {{"q_num_heads", heads}, {"kv_num_heads", kvHeads}})
        .output("y");
}

ModelBuilder groupQuery(int heads, int kvHeads, bool cache) {
    onnx::TensorProto lengths, total;
    for (auto* tensor : {&lengths, &total})
        tensor->set_data_type(T::INT32);
    lengths.set_name("lengths");
    lengths.add_dims(2);
    lengths.add_int32_data(3);
    lengths.add_int32_data(3);
    total.set_name("total");
    total.add_int32_data(4);
    ModelBuilder model = ModelBuilder(21).opset(kMs, 1);
    model.input("q", {2, 4, heads * 16})
        .input("k", {2, 4, kvHeads * 16})
        .input("v", {2, 4, kvHeads * 16})
        .initializer(lengths)
        .initializer(total)
        .op("GroupQueryAttention", {"q", "k", "v", "", "", "lengths", "total"},
            cache ? std::vector<std::string>{"y", "nk", "nv"} : std::vector<std::string>{"y"}, "a",
            {{"num_heads", heads}, {"kv_num_heads", kvHeads}}, kMs)
        .output("y");
    return cache ? model.output("nk").output("nv") : model;
}

std::string firstError(const PlanCase& plan) {
    const auto analysis = plan.analyse();
    for (const Diagnostic& diagnostic : analysis->diagnostics)
        if (diagnostic.severity == Severity::Error)
            return diagnostic.code + " " + diagnostic.message;
    return {};
}

}  // namespace

/// Attention whose devices do not divide the heads of the keys: keys and values are whole, and the
/// heads of the query alone are split, on the kernels.
class TstPlanQueryHeads : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!ortRuntime())
            QSKIP("needs ONNX Runtime's library");
    }

    void headsOfTheQueryAreSplitAlone_data() {
        QTest::addColumn<int>("heads");
        QTest::addColumn<int>("kvHeads");
        QTest::addColumn<int>("devices");
        QTest::newRow("4 devices, 2 key heads, within them") << 8 << 2 << 4;
        QTest::newRow("4 devices, 3 key heads, across them") << 12 << 3 << 4;
        QTest::newRow("3 devices, 2 key heads, across them") << 6 << 2 << 3;
        QTest::newRow("3 devices, 2 key heads, unevenly") << 8 << 2 << 3;
        QTest::newRow("5 devices, 3 key heads, one without work") << 12 << 3 << 5;
        QTest::newRow("7 devices, 4 key heads of 28") << 28 << 4 << 7;
        QTest::newRow("3 devices, one key head, unevenly") << 4 << 1 << 3;
        QTest::newRow("3 devices, as many key heads, unevenly") << 4 << 4 << 3;
    }
    void headsOfTheQueryAreSplitAlone() {
        QFETCH(int, heads);
        QFETCH(int, kvHeads);
        QFETCH(int, devices);
        const std::string mesh = "tp=" + std::to_string(devices);
        // As many key heads as heads of the query are split alike.
        const bool alike = heads == kvHeads;
        PlanCase one(apart(heads, kvHeads), mesh);
        one.shard("q@a:1=tp");
        if (alike)
            one.shard("k@a:1=tp").shard("v@a:1=tp");
        QCOMPARE(QString::fromStdString(one.verify()), QString());
        QVERIFY(one.collectives().empty());

        const std::string width = "2=" + std::to_string(heads) + "/tp*8";
        PlanCase two(fused(heads, kvHeads), mesh);
        two.shard("q@a:" + width);
        if (alike)
            two.shard("k@a:" + width).shard("v@a:" + width);
        QCOMPARE(QString::fromStdString(two.verify()), QString());
        two.shard("m@a:1=tp");
        QCOMPARE(QString::fromStdString(two.verify()), QString());
    }

    void groupQueryAttentionToo() {
        for (const auto& [heads, kvHeads, devices] :
             {std::tuple{8, 2, 4}, {12, 3, 4}, {6, 2, 3}, {8, 2, 3}}) {
            PlanCase plan(groupQuery(heads, kvHeads, false), "tp=" + std::to_string(devices));
            plan.shard("q@a:2=" + std::to_string(heads) + "/tp*16");
            QCOMPARE(QString::fromStdString(plan.verify()), QString());
        }
    }

    void multiHeadAttentionUnevenly() {
        const ModelBuilder model =
            ModelBuilder(21)
                .opset(kMs, 1)
                .input("q", {2, 4, 40})
                .input("k", {2, 5, 40})
                .input("v", {2, 5, 40})
                .op("MultiHeadAttention", {"q", "k", "v"}, {"y"}, "a", {{"num_heads", 5}}, kMs)
                .output("y");
        for (const int devices : {3, 4, 7}) {
            PlanCase plan(model, "tp=" + std::to_string(devices));
            for (const char* tensor : {"q", "k", "v"})
                plan.shard(std::string(tensor) + "@a:2=5/tp*8");
            QCOMPARE(QString::fromStdString(plan.verify()), QString());
        }
    }

    /// What the devices would give out is not of whole key heads.
    void aCacheThatIsGivenOutIsOfWholeKeyHeads() {
        PlanCase plan(groupQuery(12, 3, true), "tp=4");
        plan.shard("q@a:2=12/tp*16");
        QVERIFY2(firstError(plan).starts_with("SW304 "), firstError(plan).c_str());
    }
    /// Nor are keys that are split otherwise than the heads that read them.
    void keysMustBeWholeThen() {
        PlanCase plan(apart(12, 3), "tp=4");
        plan.shard("q@a:1=tp").shard("k@a:1=tp");
        QVERIFY2(firstError(plan).starts_with("SW304 "), firstError(plan).c_str());
    }
    /// A head is not taken apart.
    void headsStayWhole() {
        PlanCase plan(fused(6, 2), "tp=4");
        plan.shard("q@a:2=tp");
        QVERIFY2(!firstError(plan).empty(), firstError(plan).c_str());
    }
};

QTEST_GUILESS_MAIN(TstPlanQueryHeads)
#include "tst_plan_query_heads.moc"
