// SPDX-License-Identifier: Apache-2.0
#include "model/scope_names.h"
#include "support/model_builder.h"

#include <QtTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

using Names = std::vector<std::string>;

std::string scopeOf(const Model& model, const std::string& node) {
    return model.graph().place(nodeNamed(model.graph(), node)).scope;
}

}  // namespace

class TstScopes : public QObject {
    Q_OBJECT

private slots:
    void readsPytorchsNameLists() {
        QCOMPARE(scopesFromNameList("['', 'm', 'm.encoder', 'm.encoder.layer.0', "
                                    "'m.encoder.layer.0.attention', 'add_3']"),
                 (Names{"m", "encoder", "layer.0", "attention"}));
        QCOMPARE(scopesFromNameList("['', 'layers.1', 'view_4']"), Names{"layers.1"});
        QCOMPARE(scopesFromNameList("['', 'add']"), Names{});
        QCOMPARE(scopesFromNameList("['', \"it's\", 'a\\'b', 'x']"), (Names{"it's", "a'b"}));
        QCOMPARE(scopesFromNameList("['m', 'model', 'x']"), (Names{"m", "model"}));
    }

    void textThatIsNoListGivesNothing() {
        for (const char* text : {"", "[", "[]", "['a'", "['a", "not a list", "[1, 2]", "['a' 'b"})
            QCOMPARE(scopesFromNameList(text), Names{});
    }

    void readsNamespaces() {
        QCOMPARE(scopesFromNamespace(
                     ": __main__.M/m: a.b.Model/m.encoder: a.b.Encoder/add_3: aten.add.Tensor"),
                 (Names{"m", "encoder"}));
        QCOMPARE(scopesFromNamespace("plain/path"), (Names{"plain", "path"}));
        QCOMPARE(scopesFromNamespace(""), Names{});
    }

    void splitsNodeNamesAtSlashes() {
        const auto model =
            ModelBuilder{}
                .input("x", {4})
                .op("Relu", {"x"}, {"a"}, "/m/model/layers.0/self_attn/q_proj/MatMul")
                .op("Relu", {"a"}, {"b"}, "layer/MatMul")
                .op("Relu", {"b"}, {"c"}, "no.dots.split")
                .op("Relu", {"c"}, {"d"}, "/alone")
                .output("d", {4})
                .model();
        QCOMPARE(scopeOf(*model, "/m/model/layers.0/self_attn/q_proj/MatMul"),
                 std::string("m/model/layers.0/self_attn/q_proj"));
        QCOMPARE(scopeOf(*model, "layer/MatMul"), std::string("layer"));
        QCOMPARE(scopeOf(*model, "no.dots.split"), std::string());
        QCOMPARE(scopeOf(*model, "/alone"), std::string());
    }

    void scopesFormATree() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Relu", {"x"}, {"a"}, "m/a/1")
                               .op("Relu", {"a"}, {"b"}, "m/b/2")
                               .op("Relu", {"b"}, {"c"}, "m/a/3")
                               .output("c", {4})
                               .model();
        const GraphIndex& graph = model->graph();
        QCOMPARE(graph.scopes.size(), std::size_t(4));
        const ScopeInfo& m = graph.scope(graph.scopes[0].children.at(0));
        QCOMPARE(m.name, std::string("m"));
        QCOMPARE(m.children.size(), std::size_t(2));
        QCOMPARE(graph.scope(m.children[0]).path, std::string("m/a"));
        QCOMPARE(graph.scope(m.children[0]).nodes.size(), std::size_t(2));
        QVERIFY(m.nodes.empty());
        QCOMPARE(graph.scope(m.children[1]).parent, m.id);
        for (const NodeInfo& node : graph.nodes)
            QVERIFY(node.scope);
    }

    void metadataComesBeforeNames() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Relu", {"x"}, {"a"}, "some/where/relu")
                               .nodeMetadata("pkg.torch.onnx.name_scopes", "['', 'm', 'relu']")
                               .op("Neg", {"a"}, {"b"}, "neg")
                               .nodeMetadata("namespace", ": M/m: A/m.layer.0: B/neg: aten.neg")
                               .output("b", {4})
                               .model();
        QCOMPARE(scopeOf(*model, "some/where/relu"), std::string("m"));
        QCOMPARE(scopeOf(*model, "neg"), std::string("m/layer.0"));
    }

    void outputNamesAreUsedWhereNodesHaveNone() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Relu", {"x"}, {"/m/layer/Relu_output_0"})
                               .output("/m/layer/Relu_output_0", {4})
                               .model();
        QCOMPARE(model->graph().place(NodeId(0)).scope, std::string("m/layer"));
    }

    void bodiesLieBelowTheirOwner() {
        const auto branch = [](const std::string& name) {
            return ModelBuilder{}
                .op("Relu", {"x"}, {name + "_y"}, "/block/" + name + "/Relu")
                .output(name + "_y")
                .graph();
        };
        const auto model = ModelBuilder{}
                               .input("c", {}, onnx::TensorProto::BOOL)
                               .input("x", {4})
                               .op("If", {"c"}, {"y"}, "/block/If",
                                   {{"then_branch", branch("t")}, {"else_branch", branch("e")}})
                               .op("If", {"c"}, {"z"}, "",
                                   {{"then_branch", branch("t")}, {"else_branch", branch("e")}})
                               .output("y", {4})
                               .model();
        const GraphIndex& graph = model->graph();
        QCOMPARE(scopeOf(*model, "/block/t/Relu"), std::string("block/If:then_branch/t"));
        const NodeInfo& unnamed = graph.node(NodeId(1));
        const ScopeId body =
            graph.scope(graph.node(graph.graph(unnamed.bodies[0]).nodes[0]).scope).parent;
        QVERIFY(graph.scope(body).path.starts_with("If#1:then_branch"));
        int bodies = 0;
        for (const ScopeInfo& scope : graph.scopes)
            bodies += scope.bodyOf ? 1 : 0;
        QCOMPARE(bodies, 4);
    }

    void bodiesOfNodesWithOneNameStayApart() {
        const auto branch = ModelBuilder{}.op("Relu", {"x"}, {"t"}, "r").output("t").graph();
        ModelBuilder builder;
        builder.input("c", {}, onnx::TensorProto::BOOL).input("x", {4});
        for (const char* out : {"y", "z"})
            builder.op("If", {"c"}, {out}, "same",
                       {{"then_branch", branch}, {"else_branch", branch}});
        const auto model = builder.output("y", {4}).model();
        std::set<std::string> paths;
        for (const ScopeInfo& scope : model->graph().scopes)
            paths.insert(scope.path);
        QCOMPARE(paths.size(), model->graph().scopes.size());
        QCOMPARE(paths.size(), std::size_t(5));
    }

    void functionsAreScopesAtTheRoot() {
        const auto model = ModelBuilder{}
                               .function("local", "Block",
                                         ModelBuilder{}
                                             .input("a", {1})
                                             .op("Relu", {"a"}, {"b"}, "inner/relu")
                                             .output("b"))
                               .input("x", {4})
                               .op("Block", {"x"}, {"y"}, "m/block", {}, "local")
                               .output("y", {4})
                               .model();
        QCOMPARE(scopeOf(*model, "inner/relu"), std::string("local::Block/inner"));
        QCOMPARE(scopeOf(*model, "m/block"), std::string("m"));
    }

    void constantsWithoutAScopeJoinTheirConsumers() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Constant", {}, {"c"}, "Constant_1", {{"value_float", 2.0}})
                               .op("Constant", {}, {"d"}, "Constant_2", {{"value_float", 2.0}})
                               .op("Mul", {"x", "c"}, {"a"}, "m/a/Mul")
                               .op("Mul", {"a", "d"}, {"b"}, "m/b/Mul")
                               .op("Mul", {"b", "d"}, {"e"}, "m/a/Mul_2")
                               .output("e", {4})
                               .model();
        QCOMPARE(scopeOf(*model, "Constant_1"), std::string("m/a"));
        QCOMPARE(scopeOf(*model, "Constant_2"), std::string("m"));
    }

    void nodesThatUnpackWeightsJoinTheirConsumers() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .weight("w", {4}, onnx::TensorProto::INT8)
                               .op("Constant", {}, {"s"}, "scale", {{"value_float", 2.0}})
                               .op("DequantizeLinear", {"w", "s"}, {"d"}, "dequantize")
                               .op("Mul", {"x", "d"}, {"y"}, "m/a/Mul")
                               .op("Relu", {"x"}, {"z"}, "at_the_root")
                               .output("y", {4})
                               .model();
        QCOMPARE(scopeOf(*model, "dequantize"), std::string("m/a"));
        QCOMPARE(scopeOf(*model, "scale"), std::string("m/a"));
        QCOMPARE(scopeOf(*model, "at_the_root"), std::string());
    }

    void longFlatGraphsAreCutIntoChunks() {
        const auto chain = [](int length) {
            ModelBuilder builder;
            builder.input("v0", {4});
            for (int i = 0; i < length; ++i)
                builder.op("Relu", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
            return builder.output("v" + std::to_string(length), {4}).model();
        };
        QCOMPARE(chain(400)->graph().scopes.size(), std::size_t(1));
        const auto model = chain(1000);
        QCOMPARE(model->graph().scopes.size(), std::size_t(6));
        QCOMPARE(model->graph().place(NodeId(250)).scope, std::string("nodes 200-399"));
        QVERIFY(model->graph().scopes[0].nodes.empty());
    }

    void namesOfSlashesCostNoMoreThanTheirLength() {
        std::string deep;
        for (int i = 0; i < 5000; ++i)
            deep += "a/";
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Relu", {"x"}, {"y"}, deep + "relu")
                               .op("Relu", {"y"}, {"z"}, std::string(10000, '/'))
                               .output("z", {4})
                               .model();
        QCOMPARE(model->graph().scopes.size(), kMaxScopeDepth + 1);
        QCOMPARE(model->graph().place(NodeId(0)).scope + "/", deep);
        QCOMPARE(model->graph().place(NodeId(1)).scope, std::string());
    }
};

QTEST_GUILESS_MAIN(TstScopes)
#include "tst_scopes.moc"
