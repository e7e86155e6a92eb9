// SPDX-License-Identifier: Apache-2.0
#include "plan/expanded_size.h"

#include "support/model_builder.h"

#include <QtTest/QTest>

#include <limits>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// f0 is one Relu, each other function calls the one before `calls` times.
ModelBuilder nested(int functions, int calls) {
    ModelBuilder builder;
    builder.opset("m", 1).input("x", {4});
    for (int i = 0; i < functions; ++i) {
        ModelBuilder body;
        body.opset("m", 1).input("v0", {4});
        for (int k = 0; k < calls; ++k)
            body.op(i == 0 ? "Relu" : "f" + std::to_string(i - 1), {"v" + std::to_string(k)},
                    {"v" + std::to_string(k + 1)}, {}, {}, i == 0 ? "" : "m");
        body.output("v" + std::to_string(calls), {4});
        builder.function("m", "f" + std::to_string(i), body);
    }
    builder.op("f" + std::to_string(functions - 1), {"x"}, {"y"}, "call", {}, "m");
    return builder.output("y", {4});
}

}  // namespace

class TstExpandedSize : public QObject {
    Q_OBJECT

private slots:
    void nodesOfCalledFunctionsCountOncePerCall() {
        // The call, two calls inside of it, and two Relu in each of those.
        const auto model = nested(2, 2).model();
        QCOMPARE(lowering::expandedNodeCount(model->graph()), std::optional<std::int64_t>(7));
    }

    void callsThatDoubleEndAtTheLargestNumber() {
        const auto model = nested(200, 2).model();
        QCOMPARE(lowering::expandedNodeCount(model->graph()),
                 std::optional(std::numeric_limits<std::int64_t>::max()));
    }

    void aFunctionThatCallsItselfHasNoSize() {
        ModelBuilder body;
        body.opset("m", 1).input("a", {4}).op("f", {"a"}, {"b"}, {}, {}, "m").output("b", {4});
        ModelBuilder builder;
        builder.opset("m", 1).input("x", {4}).function("m", "f", body);
        const auto model = builder.op("f", {"x"}, {"y"}, {}, {}, "m").output("y", {4}).model();
        QCOMPARE(lowering::expandedNodeCount(model->graph()), std::optional<std::int64_t>());
    }

    void bodiesCount() {
        ModelBuilder branch;
        branch.op("Relu", {"x"}, {"r"}).op("Neg", {"r"}, {"s"}).output("s", {4});
        ModelBuilder builder;
        builder.input("x", {4}).input("c", {}, onnx::TensorProto::BOOL);
        builder.op("If", {"c"}, {"y"}, "if",
                   {{"then_branch", branch.graph()}, {"else_branch", branch.graph()}});
        const auto model = builder.output("y", {4}).model();
        QCOMPARE(lowering::expandedNodeCount(model->graph()), std::optional<std::int64_t>(5));
    }
};

QTEST_GUILESS_MAIN(TstExpandedSize)
#include "tst_expanded_size.moc"
