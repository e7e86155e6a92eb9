// SPDX-License-Identifier: Apache-2.0
#include "model/document.h"
#include "model/graph_walk.h"
#include "support/model_builder.h"

#include <QtTest>

#include <algorithm>

using namespace shardwright;
using namespace shardwright::test;
using Kind = GraphIndex::Problem::Kind;

namespace {

/// Names of values, for comparison with a literal.
QStringList names(const GraphIndex& graph, const std::vector<ValueId>& ids) {
    QStringList list;
    for (const ValueId id : ids)
        list.append(id ? QString::fromStdString(graph.value(id).name) : QString());
    return list;
}

QStringList labels(const GraphIndex& graph, const std::vector<NodeId>& ids) {
    QStringList list;
    for (const NodeId id : ids)
        list.append(QString::fromStdString(graph.label(id)));
    return list;
}

const GraphIndex::Problem* findProblem(const GraphIndex& graph, Kind kind) {
    const auto found = std::find_if(graph.problems.begin(), graph.problems.end(),
                                    [&](const auto& problem) { return problem.kind == kind; });
    return found != graph.problems.end() ? &*found : nullptr;
}

constexpr auto kBool = onnx::TensorProto::BOOL;
constexpr auto kInt64 = onnx::TensorProto::INT64;

/// A body that adds two outer values.
onnx::GraphProto addBody(const std::string& a, const std::string& b, const std::string& out) {
    return ModelBuilder{}.op("Add", {a, b}, {out}, "add_" + out).output(out).graph();
}

}  // namespace

class TstGraph : public QObject {
    Q_OBJECT

private slots:
    void indexesNodesAndValues() {
        const auto model = ModelBuilder{}
                               .input("x", {4, 8})
                               .weight("w", {8, 16})
                               .op("MatMul", {"x", "w"}, {"h"}, "mm1")
                               .op("Add", {"h", "h"}, {"y"})
                               .output("y", {4, 16})
                               .model();
        const GraphIndex& graph = model->graph();
        QCOMPARE(graph.nodes.size(), std::size_t(2));
        QCOMPARE(names(graph, graph.main().inputs), QStringList{"x"});
        QCOMPARE(names(graph, graph.main().outputs), QStringList{"y"});
        const ValueInfo& h = graph.value(graph.findValue(GraphId(0), "h"));
        QCOMPARE(h.producer, NodeId(0));
        QCOMPARE(h.uses.size(), std::size_t(2));
        QCOMPARE(h.uses[1].slot, 1);
        QVERIFY(!h.isGraphOutput);
        const ValueInfo& w = graph.value(graph.findValue(GraphId(0), "w"));
        QCOMPARE(w.kind, ValueKind::Initializer);
        QCOMPARE(w.initializer->dims(1), 16);
        QCOMPARE(graph.edgeCount(), std::size_t(2));
        QCOMPARE(graph.label(NodeId(0)), std::string("mm1"));
        QCOMPARE(graph.label(NodeId(1)), std::string("Add#1"));
        QVERIFY(!graph.findValue(GraphId(0), "nothing"));
        QVERIFY(!graph.findValue(GraphId(), "x"));
        QVERIFY(graph.problems.empty());
    }

    void omittedSlotsAreNeverJoined() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Clip", {"x", "", ""}, {"c"})
                               .op("Dropout", {"c"}, {"d", ""})
                               .op("Dropout", {"d"}, {"e", ""})
                               .output("e", {4})
                               .model();
        const GraphIndex& graph = model->graph();
        QCOMPARE(names(graph, graph.node(NodeId(0)).inputs), (QStringList{"x", "", ""}));
        QVERIFY(!graph.node(NodeId(1)).outputs[1]);
        QVERIFY(!graph.findValue(GraphId(0), ""));
        QCOMPARE(graph.edgeCount(), std::size_t(2));
        QVERIFY(graph.problems.empty());
    }

    void emptyNamesGetUniqueIdsAndLabels() {
        ModelBuilder builder;
        builder.input("x0", {4});
        for (int i = 0; i < 5; ++i)
            builder.op("Relu", {"x" + std::to_string(i)}, {"x" + std::to_string(i + 1)});
        const auto model = builder.output("x5", {4}).model();
        QStringList all;
        for (const NodeInfo& node : model->graph().nodes)
            all.append(QString::fromStdString(model->graph().label(node.id)));
        QCOMPARE(all, (QStringList{"Relu#0", "Relu#1", "Relu#2", "Relu#3", "Relu#4"}));
    }

    void duplicateNodeNamesAreReported() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Relu", {"x"}, {"a"}, "same")
                               .op("Relu", {"a"}, {"b"}, "same")
                               .output("b", {4})
                               .model();
        const auto* problem = findProblem(model->graph(), Kind::DuplicateNodeName);
        QVERIFY(problem != nullptr);
        QCOMPARE(problem->node, NodeId(1));
        QCOMPARE(problem->other, NodeId(0));
        QCOMPARE(model->graph().place(NodeId(1)).index, 1);
    }

    void aValueProducedTwiceBelongsToTheFirst() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Relu", {"x"}, {"y"}, "first")
                               .op("Neg", {"x"}, {"y"}, "second")
                               .op("Abs", {"y"}, {"z"}, "user")
                               .output("z", {4})
                               .model();
        const GraphIndex& graph = model->graph();
        const auto* problem = findProblem(graph, Kind::ProducedTwice);
        QVERIFY(problem != nullptr);
        QCOMPARE(problem->node, NodeId(1));
        QCOMPARE(problem->other, NodeId(0));
        QCOMPARE(graph.value(graph.node(NodeId(2)).inputs[0]).producer, NodeId(0));
        QCOMPARE(graph.value(graph.node(NodeId(1)).outputs[0]).producer, NodeId(1));
        QVERIFY(graph.value(graph.node(NodeId(1)).outputs[0]).uses.empty());
    }

    void inputsThatNobodyProducesAreMissing() {
        const auto model = ModelBuilder{}
                               .op("Relu", {"ghost"}, {"y"})
                               .op("Neg", {"ghost"}, {"z"})
                               .output("nowhere")
                               .model();
        const GraphIndex& graph = model->graph();
        const ValueId ghost = graph.findValue(GraphId(0), "ghost");
        QCOMPARE(graph.value(ghost).kind, ValueKind::Missing);
        QCOMPARE(graph.value(ghost).uses.size(), std::size_t(2));
        QCOMPARE(graph.node(NodeId(1)).inputs[0], ghost);
        QCOMPARE(
            std::count_if(graph.problems.begin(), graph.problems.end(),
                          [](const auto& problem) { return problem.kind == Kind::MissingInput; }),
            2);
        QVERIFY(graph.value(graph.main().outputs[0]).isGraphOutput);
    }

    void unnamedGraphOutputsAreReported() {
        const auto model = ModelBuilder{}
                               .input("x", {1})
                               .op("Relu", {"x"}, {"y"})
                               .output("", {1})
                               .op("Relu", {"x"}, {})
                               .model();
        QVERIFY(findProblem(model->graph(), Kind::UnnamedOutput) != nullptr);
        QCOMPARE(model->graph().main().outputs.size(), std::size_t(1));
    }

    void initializersThatAreInputsHaveDefaults() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .input("b", {4})
                               .weight("b", {4})
                               .op("Add", {"x", "b"}, {"y"})
                               .output("y", {4})
                               .model();
        const GraphIndex& graph = model->graph();
        QCOMPARE(names(graph, graph.main().inputs), (QStringList{"x", "b"}));
        const ValueInfo& b = graph.value(graph.findValue(GraphId(0), "b"));
        QCOMPARE(b.kind, ValueKind::GraphInput);
        QVERIFY(b.initializer != nullptr);
        QVERIFY(graph.problems.empty());
    }

    void beforeIrVersionFourInitializersAreNoInputs() {
        const auto model = ModelBuilder{}
                               .irVersion(3)
                               .input("x", {4})
                               .input("b", {4})
                               .weight("b", {4})
                               .op("Add", {"x", "b"}, {"y"})
                               .output("y", {4})
                               .model();
        const GraphIndex& graph = model->graph();
        QCOMPARE(names(graph, graph.main().inputs), QStringList{"x"});
        QCOMPARE(graph.value(graph.findValue(GraphId(0), "b")).kind, ValueKind::Initializer);
    }

    void sparseInitializersAreInitializers() {
        onnx::ModelProto proto =
            ModelBuilder{}.input("x", {4}).op("Add", {"x", "s"}, {"y"}).output("y", {4}).build();
        proto.mutable_graph()->add_sparse_initializer()->mutable_values()->set_name("s");
        const auto model = Model::fromBytes(proto.SerializeAsString());
        const GraphIndex& graph = (*model)->graph();
        QCOMPARE(graph.value(graph.findValue(GraphId(0), "s")).kind, ValueKind::Initializer);
        QVERIFY(graph.problems.empty());
    }

    void nodesOutOfOrderAreSorted() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Relu", {"b"}, {"c"}, "third")
                               .op("Relu", {"a"}, {"b"}, "second")
                               .op("Relu", {"x"}, {"a"}, "first")
                               .op("Neg", {"x"}, {"n"}, "free")
                               .output("c", {4})
                               .model();
        const GraphIndex& graph = model->graph();
        QCOMPARE(labels(graph, graph.main().nodes),
                 (QStringList{"third", "second", "first", "free"}));
        QCOMPARE(labels(graph, graph.main().order),
                 (QStringList{"first", "second", "third", "free"}));
        const auto* problem = findProblem(graph, Kind::OutOfOrder);
        QVERIFY(problem != nullptr);
        QCOMPARE(graph.label(problem->node), std::string("third"));
        QCOMPARE(graph.label(problem->other), std::string("second"));
    }

    void aSortedFileKeepsItsOrder() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Relu", {"x"}, {"a"}, "a")
                               .op("Neg", {"x"}, {"b"}, "b")
                               .op("Abs", {"a"}, {"c"}, "c")
                               .op("Exp", {"b"}, {"d"}, "d")
                               .output("d", {4})
                               .model();
        QCOMPARE(model->graph().main().order, model->graph().main().nodes);
    }

    void cyclesAreReportedWithANodeOnThem() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Relu", {"x"}, {"free"}, "free")
                               .op("Abs", {"loop2"}, {"behind"}, "behind")
                               .op("Add", {"x", "loop2"}, {"loop1"}, "one")
                               .op("Neg", {"loop1"}, {"loop2"}, "two")
                               .output("behind", {4})
                               .model();
        const GraphIndex& graph = model->graph();
        QCOMPARE(labels(graph, graph.main().order), QStringList{"free"});
        QCOMPARE(labels(graph, graph.main().cyclic), (QStringList{"behind", "one", "two"}));
        const auto* problem = findProblem(graph, Kind::Cycle);
        QVERIFY(problem != nullptr);
        QVERIFY((QStringList{"one", "two"})
                    .contains(QString::fromStdString(graph.label(problem->node))));
        QVERIFY(problem->other);
        QVERIFY(findProblem(graph, Kind::OutOfOrder) == nullptr);
    }

    void aNodeThatReadsItselfIsACycle() {
        const auto model = ModelBuilder{}.op("Relu", {"y"}, {"y"}, "self").output("y", {4}).model();
        QCOMPARE(labels(model->graph(), model->graph().main().cyclic), QStringList{"self"});
        QCOMPARE(findProblem(model->graph(), Kind::Cycle)->node, NodeId(0));
    }

    void capturesGoThroughAllOwners() {
        // main: x, w -> If(cond) { Loop { Add(state, w) } else Relu(x) }
        const auto loopBody = ModelBuilder{}
                                  .input("i", {}, kInt64)
                                  .input("c_in", {}, kBool)
                                  .input("s_in", {4})
                                  .op("Identity", {"c_in"}, {"c_out"})
                                  .op("Add", {"s_in", "w"}, {"s_out"}, "add")
                                  .output("c_out")
                                  .output("s_out")
                                  .graph();
        const auto thenBody =
            ModelBuilder{}
                .op("Loop", {"trips", "", "x"}, {"t"}, "loop", {{"body", loopBody}})
                .output("t")
                .graph();
        const auto elseBody = ModelBuilder{}.op("Relu", {"x"}, {"e"}, "relu").output("e").graph();
        const auto model = ModelBuilder{}
                               .input("cond", {}, kBool)
                               .input("trips", {}, kInt64)
                               .input("x", {4})
                               .weight("w", {4})
                               .op("If", {"cond"}, {"y"}, "if",
                                   {{"then_branch", thenBody}, {"else_branch", elseBody}})
                               .output("y", {4})
                               .model();
        const GraphIndex& graph = model->graph();
        QCOMPARE(graph.graphs.size(), std::size_t(4));
        const NodeInfo& owner = graph.node(nodeNamed(graph, "if"));
        const NodeInfo& loop = graph.node(nodeNamed(graph, "loop"));
        auto captured = names(graph, owner.captures);
        captured.sort();
        QCOMPARE(captured, (QStringList{"trips", "w", "x"}));
        QCOMPARE(names(graph, loop.captures), QStringList{"w"});
        QCOMPARE(owner.bodies.size(), std::size_t(2));
        QCOMPARE(graph.graph(owner.bodies[0]).name, std::string("then_branch"));
        QCOMPARE(graph.graph(loop.bodies[0]).owner, loop.id);
        // The body's slot refers to the main graph's value, whose uses are those of its own graph.
        const ValueId w = graph.findValue(GraphId(0), "w");
        QCOMPARE(graph.node(nodeNamed(graph, "add")).inputs[1], w);
        QVERIFY(graph.value(w).uses.empty());
        QVERIFY(graph.problems.empty());
    }

    void capturesOrderTheirOwners() {
        const auto model = ModelBuilder{}
                               .input("cond", {}, kBool)
                               .input("x", {4})
                               .op("If", {"cond"}, {"y"}, "if",
                                   {{"then_branch", addBody("h", "x", "t")},
                                    {"else_branch", addBody("x", "x", "e")}})
                               .op("Relu", {"x"}, {"h"}, "late")
                               .output("y", {4})
                               .model();
        QCOMPARE(labels(model->graph(), model->graph().main().order), (QStringList{"late", "if"}));
        QVERIFY(findProblem(model->graph(), Kind::OutOfOrder) != nullptr);
    }

    void aBodyCanShadowAnOuterName() {
        const auto body = ModelBuilder{}
                              .op("Relu", {"x"}, {"h"}, "inner")
                              .op("Neg", {"h"}, {"t"}, "user")
                              .output("t")
                              .graph();
        const auto model =
            ModelBuilder{}
                .input("cond", {}, kBool)
                .input("x", {4})
                .op("Abs", {"x"}, {"h"}, "outer")
                .op("If", {"cond"}, {"y"}, "if", {{"then_branch", body}, {"else_branch", body}})
                .output("y", {4})
                .model();
        const GraphIndex& graph = model->graph();
        const NodeInfo& user = graph.node(nodeNamed(graph, "user"));
        QCOMPARE(graph.label(graph.value(user.inputs[0]).producer), std::string("inner"));
        QCOMPARE(names(graph, graph.node(nodeNamed(graph, "if")).captures), QStringList{"x"});
    }

    void aBodyOutputMayBeAnOuterValue() {
        const auto body = ModelBuilder{}.output("x").graph();
        const auto model =
            ModelBuilder{}
                .input("cond", {}, kBool)
                .input("x", {4})
                .op("If", {"cond"}, {"y"}, "if", {{"then_branch", body}, {"else_branch", body}})
                .output("y", {4})
                .model();
        const GraphIndex& graph = model->graph();
        QCOMPARE(names(graph, graph.node(NodeId(0)).captures), QStringList{"x"});
        QCOMPARE(graph.graph(GraphId(1)).outputs[0], graph.findValue(GraphId(0), "x"));
        QVERIFY(!graph.value(graph.findValue(GraphId(0), "x")).isGraphOutput);
    }

    void functionsAreFoundByDomainNameAndOverload() {
        const auto body = [](const char* op) {
            return ModelBuilder{}
                .input("a", {1})
                .op(op, {"a"}, {"b"}, std::string("in_") + op)
                .output("b");
        };
        const auto model = ModelBuilder{}
                               .function("one", "F", body("Relu"))
                               .function("two", "F", body("Neg"))
                               .function("two", "F", body("Abs"), "v2")
                               .input("x", {4})
                               .op("F", {"x"}, {"p"}, "call1", {}, "one")
                               .op("F", {"p"}, {"q"}, "call2", {}, "two")
                               .op("F", {"q"}, {"r"}, "call3", {}, "two")
                               .overload("v2")
                               .op("F", {"r"}, {"s"}, "unknown", {}, "three")
                               .op("Relu", {"s"}, {"y"}, "plain")
                               .output("y", {4})
                               .model();
        const GraphIndex& graph = model->graph();
        const auto called = [&](const char* node) {
            const GraphId id = graph.node(nodeNamed(graph, node)).function;
            return id ? graph.graph(id).name : std::string();
        };
        QCOMPARE(called("call1"), std::string("one::F"));
        QCOMPARE(called("call2"), std::string("two::F"));
        QCOMPARE(called("call3"), std::string("two::F:v2"));
        QCOMPARE(called("unknown"), std::string());
        QCOMPARE(called("plain"), std::string());
        QCOMPARE(graph.graphs.size(), std::size_t(4));
    }

    void aFunctionCallsOneOfAnotherDomain() {
        const auto inner =
            ModelBuilder{}.input("a", {1}).op("Relu", {"a"}, {"b"}, "leaf").output("b");
        const auto outer = ModelBuilder{}
                               .opset("inner", 1)
                               .input("a", {1})
                               .op("G", {"a"}, {"b"}, "call", {}, "inner")
                               .output("b");
        const auto model = ModelBuilder{}
                               .function("outer", "F", outer)
                               .function("inner", "G", inner)
                               .input("x", {4})
                               .op("F", {"x"}, {"y"}, "top", {}, "outer")
                               .op("F", {"y"}, {"z"}, "again", {}, "outer")
                               .output("z", {4})
                               .model();
        const GraphIndex& graph = model->graph();
        QCOMPARE(graph.nodes.size(),
                 std::size_t(4));  // Each function body once, however often it is called.
        QCOMPARE(graph.graph(graph.node(nodeNamed(graph, "call")).function).name,
                 std::string("inner::G"));
        QCOMPARE(graph.graph(graph.node(nodeNamed(graph, "leaf")).graph).kind, GraphKind::Function);
    }

    void functionsThatCallEachOtherAreIndexedOnce() {
        const auto f =
            ModelBuilder{}.input("a", {1}).op("G", {"a"}, {"b"}, "", {}, "d").output("b");
        const auto g =
            ModelBuilder{}.input("a", {1}).op("F", {"a"}, {"b"}, "", {}, "d").output("b");
        const auto model = ModelBuilder{}
                               .function("d", "F", f)
                               .function("d", "G", g)
                               .input("x", {1})
                               .op("F", {"x"}, {"y"}, "", {}, "d")
                               .output("y")
                               .model();
        QCOMPARE(model->graph().nodes.size(), std::size_t(3));
    }

    void oddNamesAreHarmless() {
        const std::vector<std::string> odd = {"a@b/c:<&>#=!*?[]",
                                              "line\nbreak",
                                              "😀/слой",
                                              std::string(10000, 'n'),
                                              std::string(10000, '/'),
                                              "\xff\xfe",
                                              std::string("nul\0byte", 8),
                                              " "};
        ModelBuilder builder;
        builder.input("x", {4});
        std::string last = "x";
        for (const std::string& name : odd) {
            builder.op("Relu", {last}, {"v" + name}, name);
            last = "v" + name;
        }
        const auto model = builder.output(last, {4}).model();
        const GraphIndex& graph = model->graph();
        for (std::size_t i = 0; i < odd.size(); ++i) {
            QCOMPARE(graph.label(NodeId(i)), odd[i]);
            QCOMPARE(graph.findValue(GraphId(0), "v" + odd[i]), graph.node(NodeId(i)).outputs[0]);
        }
        QVERIFY(graph.problems.empty());
    }

    void aCopyOfTheIndexStaysValid() {
        const auto model =
            ModelBuilder{}.input("x", {4}).op("Relu", {"x"}, {"y"}).output("y", {4}).model();
        auto copy = std::make_unique<GraphIndex>(model->graph());
        GraphIndex second = *copy;
        copy.reset();
        QVERIFY(second.findValue(GraphId(0), "y"));
    }

    void nodesOfACopyAreFoundInTheSameOrder() {
        const auto body = addBody("x", "x", "t");
        onnx::ModelProto proto =
            ModelBuilder{}
                .function("d", "F",
                          ModelBuilder{}.input("a", {1}).op("Relu", {"a"}, {"b"}, "f").output("b"))
                .input("cond", {}, kBool)
                .input("x", {4})
                .op("If", {"cond"}, {"y"}, "if", {{"then_branch", body}, {"else_branch", body}})
                .output("y", {4})
                .build();
        const auto model = *Model::fromBytes(proto.SerializeAsString());
        const auto sources = listGraphs(proto);
        QCOMPARE(sources.size(), model->graph().graphs.size());
        for (const NodeInfo& node : model->graph().nodes) {
            const auto& source = sources[node.graph.index()];
            QCOMPARE(source.nodes->Get(node.index).name(), node.proto->name());
            QCOMPARE(source.firstNode.value + node.index, node.id.value);
        }
    }

    void theDefaultDomainHasTwoSpellings() {
        const auto model = ModelBuilder{}
                               .input("x", {1})
                               .op("Relu", {"x"}, {"y"}, "", {}, "ai.onnx")
                               .op("G", {"y"}, {"z"}, "", {}, "com.microsoft")
                               .output("z")
                               .model();
        QCOMPARE(model->graph().domain(NodeId(0)), std::string_view());
        QCOMPARE(model->graph().domain(NodeId(1)), std::string_view("com.microsoft"));
        QCOMPARE(model->graph().opType(NodeId(0)), std::string_view("Relu"));
    }
};

QTEST_GUILESS_MAIN(TstGraph)
#include "tst_graph.moc"
