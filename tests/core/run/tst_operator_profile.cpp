// SPDX-License-Identifier: Apache-2.0
#include "run/operator_profile.h"
#include "support/model_builder.h"

#include <QtTest>

#include <fstream>

using namespace shardwright;
using namespace shardwright::test;

namespace {

const char* const kProfile = R"([
{"cat": "Session", "name": "model_loading_array", "dur": 485, "ts": 4, "args": {}},
{"cat": "Node", "name": "fused mm1/MatMulAddFusion_kernel_time", "dur": 102, "ts": 10, "args": {"op_name": "FusedGemm"}},
{"cat": "Node", "name": "MatMul_3_kernel_time", "dur": 8, "ts": 120, "args": {"op_name": "MatMul"}},
{"cat": "Node", "name": "fused mm1/MatMulAddFusion_kernel_time", "dur": 13, "ts": 200, "args": {"op_name": "FusedGemm"}},
{"cat": "Node", "name": "MatMul_3_kernel_time", "dur": 5, "ts": 230, "args": {"op_name": "MatMul"}},
{"cat": "Node", "name": "MatMul_3_fence_before", "dur": 5, "ts": 230, "args": {"op_name": "MatMul"}}
])";

Document model() {
    ModelBuilder builder;
    builder.input("x", {4, 16}).weight("w", {16, 32}).weight("v", {32, 16}).weight("b", {32});
    builder.op("MatMul", {"x", "w"}, {"h"}, "mm1")
        .op("Add", {"h", "b"}, {"s"}, "mm10")
        .op("MatMul", {"s", "v"}, {"m"}, "")
        .op("Relu", {"m"}, {"y"}, "act");
    return builder.output("y", {4, 16}).document();
}

}  // namespace

class TstOperatorProfile : public QObject {
    Q_OBJECT
private slots:
    void kernelsHaveTheirCalls();
    void whatIsNoProfileIsRefused_data();
    void whatIsNoProfileIsRefused();
    void kernelsAreFoundInTheModel_data();
    void kernelsAreFoundInTheModel();
    void theFolderIsRemoved();
};

void TstOperatorProfile::kernelsHaveTheirCalls() {
    const auto kernels = readKernelTimes(kProfile);
    QVERIFY(bool(kernels));
    QCOMPARE(kernels->size(), std::size_t(2));
    QCOMPARE((*kernels)[0].name, std::string("fused mm1/MatMulAddFusion"));
    QCOMPARE((*kernels)[0].op, std::string("FusedGemm"));
    QCOMPARE((*kernels)[0].callsUs, (std::vector<double>{102, 13}));
    QCOMPARE((*kernels)[1].callsUs, (std::vector<double>{8, 5}));
}

void TstOperatorProfile::whatIsNoProfileIsRefused_data() {
    QTest::addColumn<QString>("text");
    QTest::newRow("nothing") << "";
    QTest::newRow("cut off") << QString(kProfile).left(300);
    QTest::newRow("an object") << "{}";
}

void TstOperatorProfile::whatIsNoProfileIsRefused() {
    QFETCH(QString, text);
    QVERIFY(!readKernelTimes(text.toStdString()));
}

void TstOperatorProfile::kernelsAreFoundInTheModel_data() {
    QTest::addColumn<QString>("kernel");
    QTest::addColumn<QString>("op");
    QTest::addColumn<int>("node");
    QTest::newRow("its name") << "act"
                              << "Relu" << 3;
    QTest::newRow("fused") << "fused mm1/MatMulAddFusion"
                           << "FusedGemm" << 0;
    QTest::newRow("a copy") << "mm1_2"
                            << "MatMul" << 0;
    QTest::newRow("the longer name") << "mm10/x"
                                     << "Add" << 1;
    QTest::newRow("only the beginning of a name is another node") << "mm100"
                                                                  << "Add" << -1;
    QTest::newRow("without a name") << "MatMul_7"
                                    << "MatMul" << 2;
    QTest::newRow("put in") << "ReorderInput"
                            << "ReorderInput" << -1;
}

void TstOperatorProfile::kernelsAreFoundInTheModel() {
    QFETCH(QString, kernel);
    QFETCH(QString, op);
    QFETCH(int, node);
    const Document document = model();
    const GraphIndex& graph = document.graph();
    const auto found =
        nodesOfKernels({{kernel.toStdString(), op.toStdString(), {1}}}, graph.main().nodes, graph);
    QCOMPARE(found[0] ? graph.node(found[0]).index : -1, node);
}

void TstOperatorProfile::theFolderIsRemoved() {
    std::filesystem::path path;
    {
        const auto folder = ProfileFolder::make();
        QVERIFY(bool(folder));
        path = (*folder)->path();
        QVERIFY(std::filesystem::is_directory(path));
        std::ofstream((*folder)->prefix(1) + "s0__x.json") << "[]";
    }
    QVERIFY(!std::filesystem::exists(path));
}

QTEST_APPLESS_MAIN(TstOperatorProfile)
#include "tst_operator_profile.moc"
