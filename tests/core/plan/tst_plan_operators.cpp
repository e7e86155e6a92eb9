// SPDX-License-Identifier: Apache-2.0
#include "plan_case.h"

using namespace shardwright;
using namespace shardwright::test;

/// What lowering rewrites in the local copies of nodes.
class TstPlanOperators : public QObject {
    Q_OBJECT

    /// Self-attention of hidden size 16 with 4 heads, as exporters write it.
    static ModelBuilder attention() {
        ModelBuilder b;
        b.input("x", {2, 4, 16})
            .ints("split", {0, 0, 4, 4})
            .ints("join", {0, 0, -1})
            .real("half", 0.5F);
        for (const std::string q : {"q", "k", "v"}) {
            b.weight("w" + q, {16, 16}).op("MatMul", {"x", "w" + q}, {q}, "proj_" + q);
            b.op("Reshape", {q, "split"}, {q + "4"}, "heads_" + q);
            b.op("Transpose", {q + "4"}, {q + "t"}, "turn_" + q,
                 {{"perm", q == "k" ? std::vector<std::int64_t>{0, 2, 3, 1}
                                    : std::vector<std::int64_t>{0, 2, 1, 3}}});
        }
        return b.op("MatMul", {"qt", "kt"}, {"s"}, "qk")
            .op("Mul", {"s", "half"}, {"ss"}, "scale")
            .op("Softmax", {"ss"}, {"p"}, "softmax")
            .op("MatMul", {"p", "vt"}, {"c"}, "pv")
            .op("Transpose", {"c"}, {"ct"}, "back", {{"perm", {0, 2, 1, 3}}})
            .op("Reshape", {"ct", "join"}, {"cj"}, "joined")
            .weight("wo", {16, 16})
            .op("MatMul", {"cj", "wo"}, {"y"}, "out")
            .output("y", {2, 4, 16});
    }

    static PlanCase reduction(const std::string& op, int opset, const std::string& shard) {
        ModelBuilder b(opset);
        b.input("x", {4, 10, 3});
        if (opset >= (op == "ReduceSum" ? 13 : 18))
            b.ints("axes", {1}).op(op, {"x", "axes"}, {"y"}, "r");
        else
            b.op(op, {"x"}, {"y"}, "r", {{"axes", {1}}});
        return PlanCase(b.output("y", {4, 1, 3}), "d=4").shard(shard);
    }

    static ModelBuilder lookup(int type = onnx::TensorProto::FLOAT) {
        return ModelBuilder()
            .initializer(intTensor("ids", {2, 5}, {0, 3, 9, -1, 4, -10, 5, 6, 7, 2}))
            .input("table", {10, 4}, type)
            .op("Gather", {"table", "ids"}, {"y"}, "g")
            .output("y", {2, 5, 4}, type);
    }

private slots:
    void attentionByHeads() {
        PlanCase c(attention(), "dp=2,tp=2");
        for (const char* q : {"q", "k", "v"})
            c.shard(std::string("w") + q + "@proj_" + q + ":1=tp")
                .shard(std::string("x@proj_") + q + ":0=dp");
        c.shard("wo@out:0=tp");
        VERIFY_PLAN(c, "2 all-reduce");
        QCOMPARE(c.plan().phases, 1);
    }

    void fusedQkvIsStrided() {
        ModelBuilder b;
        b.input("x", {4, 16})
            .weight("w", {16, 48})
            .weight("b", {48})
            .ints("sizes", {16, 16, 16})
            .ints("heads", {-1, 4, 4});
        b.op("Gemm", {"x", "w", "b"}, {"qkv"}, "qkv")
            .op("Split", {"qkv", "sizes"}, {"q", "k", "v"}, "split", {{"axis", 1}});
        b.op("Mul", {"q", "k"}, {"qk"}, "mul").op("Add", {"qk", "v"}, {"s"}, "add");
        b.op("Reshape", {"s", "heads"}, {"h"}, "reshape").output("h", {4, 4, 4});
        PlanCase c(b, "tp=2");
        c.shard("w@qkv:1=3*tp").shard("b@qkv:0=3*tp");
        VERIFY_PLAN(c, "");
    }

    void reductions_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<int>("opset");
        for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd",
                               "ReduceL1", "ReduceL2", "ReduceSumSquare"})
            for (const int opset : {11, 13, 18})
                QTest::addRow("%s %d", op, opset) << QString(op) << opset;
    }
    void reductions() {
        QFETCH(QString, op);
        QFETCH(int, opset);
        PlanCase c = reduction(op.toStdString(), opset, "x@r:1=d");
        VERIFY_PLAN(c, "1 all-reduce");
    }
    void tailFollowsTheReduceScatter() {
        PlanCase c = reduction("ReduceL2", 13, "x@r:1=d").shard("y@r:0=d");
        VERIFY_PLAN(c, "1 reduce-scatter");
        QCOMPARE(c.plan().phases, 2);
    }

    void gemmBiasIsAddedOnce() {
        PlanCase c(ModelBuilder()
                       .input("x", {4, 10})
                       .weight("w", {10, 6})
                       .weight("b", {6})
                       .op("Gemm", {"x", "w", "b"}, {"y"}, "g")
                       .output("y", {4, 6}),
                   "d=4");
        c.shard("x@g:1=d").shard("w@g:0=d");
        VERIFY_PLAN(c, "1 all-reduce");
    }

    void lookupInAShardedTable_data() {
        QTest::addColumn<int>("type");
        QTest::newRow("float") << int(onnx::TensorProto::FLOAT);
        QTest::newRow("float16") << int(onnx::TensorProto::FLOAT16);
        QTest::newRow("int64") << int(onnx::TensorProto::INT64);
        QTest::newRow("bool") << int(onnx::TensorProto::BOOL);
    }
    void lookupInAShardedTable() {
        QFETCH(int, type);
        PlanCase c(lookup(type),
                   "tp=4");  // 3, 3, 3 and 1 rows; negative indices count from the end.
        c.shard("table@g:0=tp");
        VERIFY_PLAN(c, "1 all-reduce");
    }
    void lookupInStridedRows_data() {
        QTest::addColumn<QString>("split");
        QTest::newRow("two blocks a device") << QStringLiteral("2*tp");
        QTest::newRow("five blocks a device") << QStringLiteral("5*tp");
    }
    void lookupInStridedRows() {
        QFETCH(QString, split);
        PlanCase c(lookup(), "tp=2");
        c.shard("table@g:0=" + split.toStdString());
        VERIFY_PLAN(c, "1 all-reduce");
    }
    void lookupByTuplesInStridedRowsIsRefused() {
        PlanCase c(ModelBuilder()
                       .input("x", {8, 3})
                       .initializer(intTensor("ids", {5, 1}, {0, 5, -1, -6, 3}))
                       .op("GatherND", {"x", "ids"}, {"y"}, "g")
                       .output("y", {5, 3}),
                   "tp=2");
        c.shard("x@g:0=2*tp");
        const auto plan = lower(*c.analyse());
        QVERIFY(!plan);
        QVERIFY(plan.error().message.find("not one contiguous block") != std::string::npos);
        QCOMPARE(QString::fromStdString(plan.error().place), QString("GatherND g"));
    }
    void lookupByTuples_data() {
        QTest::addColumn<int>("type");
        QTest::newRow("float") << int(onnx::TensorProto::FLOAT);
        QTest::newRow("bool, joined by or") << int(onnx::TensorProto::BOOL);
    }
    void lookupByTuples() {
        QFETCH(int, type);
        PlanCase c(ModelBuilder()
                       .input("x", {4, 6, 3}, type)
                       .initializer(intTensor("ids", {5, 2}, {0, 5, -1, -6, 3, 2, 1, 1, -4, 0}))
                       .op("GatherND", {"x", "ids"}, {"y"}, "g")
                       .output("y", {5, 3}, type),
                   "a=2,b=2");
        c.shard("x@g:0=a,1=b");
        VERIFY_PLAN(c, "1 all-reduce");
    }
    void lookupByElements() {
        PlanCase c(ModelBuilder()
                       .input("x", {2, 6})
                       .initializer(intTensor("ids", {2, 4}, {0, 5, -1, -6, 3, 2, 1, 1}))
                       .op("GatherElements", {"x", "ids"}, {"y"}, "g", {{"axis", 1}})
                       .output("y", {2, 4}),
                   "a=2,b=2");
        c.shard("x@g:0=a,1=b");
        VERIFY_PLAN(c, "2 all-reduce");
    }

    void sliceOverASplitAxis_data() {
        QTest::addColumn<int>("start");
        QTest::addColumn<int>("end");
        QTest::addColumn<int>("step");
        QTest::addColumn<int>("count");
        QTest::newRow("inner") << 1 << 7 << 1 << 6;
        QTest::newRow("within one shard") << 2 << 4 << 1 << 2;
        QTest::newRow("steps") << 1 << 8 << 3 << 3;
        QTest::newRow("backwards") << -1 << -100 << -2 << 4;
    }
    void sliceOverASplitAxis() {
        QFETCH(int, start);
        QFETCH(int, end);
        QFETCH(int, step);
        QFETCH(int, count);
        PlanCase c(ModelBuilder()
                       .input("x", {8, 6})
                       .ints("s", {start, 1})
                       .ints("e", {end, 5})
                       .ints("a", {0, 1})
                       .ints("t", {step, 1})
                       .op("Slice", {"x", "s", "e", "a", "t"}, {"y"}, "slice")
                       .op("Relu", {"y"}, {"z"}, "relu")
                       .output("z", {count, 4}),
                   "d=4");
        c.shard("x@slice:0=d");
        VERIFY_PLAN(c, "");
    }
    void sliceOfStridedShards() {
        PlanCase c(ModelBuilder()
                       .input("x", {12, 6})
                       .ints("s", {1})
                       .ints("e", {11})
                       .ints("a", {0})
                       .ints("t", {3})
                       .op("Slice", {"x", "s", "e", "a", "t"}, {"y"}, "slice")
                       .output("y", {4, 6}),
                   "d=2");
        c.shard("x@slice:0=3*d");
        VERIFY_PLAN(c, "");
    }
    void expandAndConcat() {
        PlanCase c(ModelBuilder()
                       .input("x", {6, 1})
                       .ints("shape", {6, 4})
                       .op("Expand", {"x", "shape"}, {"e"}, "expand")
                       .op("Concat", {"e", "e"}, {"y"}, "concat", {{"axis", 1}})
                       .output("y", {6, 8}),
                   "d=4");
        c.shard("x@expand:0=d");
        VERIFY_PLAN(c, "");
    }
};

QTEST_GUILESS_MAIN(TstPlanOperators)
#include "tst_plan_operators.moc"
