// SPDX-License-Identifier: Apache-2.0
#include "support/model_builder.h"
#include "support/shared_files.h"
#include "ui/canvas/graph_scene.h"
#include "ui/canvas/overlay.h"

#include <QElapsedTimer>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

std::unique_ptr<GraphScene> sceneOf(std::shared_ptr<const Model> model) {
    auto scene =
        std::make_unique<GraphScene>(SceneStructure::build(std::move(model), FixedTextMetrics()));
    scene->setUseGraphviz(false);
    return scene;
}

/// `layers` equal layers of a norm, a projection and a residual sum.
std::shared_ptr<const Model> stack(int layers) {
    ModelBuilder builder;
    builder.input("x", {4, 8}).weight("w", {8, 8}).input("mask", {8});
    std::string value = "x";
    for (int i = 0; i < layers; ++i) {
        const std::string scope = "model/layers." + std::to_string(i) + "/", at = std::to_string(i);
        builder.op("Mul", {value, "mask"}, {"n" + at}, scope + "norm/Mul");
        builder.op("MatMul", {"n" + at, "w"}, {"p" + at}, scope + "mlp/MatMul");
        builder.op("Relu", {"p" + at}, {"r" + at}, scope + "mlp/Relu");
        builder.op("Add", {"r" + at, value}, {"y" + at}, scope + "Add");
        value = "y" + at;
    }
    return builder.output(value, {4, 8}).model();
}

ScopeId scopeAt(const GraphIndex& graph, const std::string& path) {
    for (const ScopeInfo& scope : graph.scopes) {
        if (scope.path == path)
            return scope.id;
    }
    return {};
}

void checkPlaced(const PlacedScene& scene) {
    for (const PlacedBox& box : scene.boxes()) {
        QVERIFY(scene.bounds().adjusted(-1, -1, 1, 1).contains(box.rect.center()));
        if (box.parent >= 0)
            QVERIFY(scene.boxes()[static_cast<std::size_t>(box.parent)]
                        .rect.adjusted(-1, -1, 1, 1)
                        .contains(box.rect.center()));
    }
    for (const PlacedEdge& edge : scene.edges()) {
        QVERIFY(edge.from >= 0 && edge.to >= 0 && edge.pointCount >= 2);
        QVERIFY(scene.points(edge).front().y() <= scene.points(edge).back().y() + 0.5);
    }
}

bool overlap(const PlacedScene& scene) {
    const auto& boxes = scene.boxes();
    std::vector<int> found;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        found.clear();
        scene.boxesIn(boxes[i].rect.adjusted(1, 1, -1, -1), found);
        for (const int j : found) {
            const PlacedBox& other = boxes[static_cast<std::size_t>(j)];
            if (j != static_cast<int>(i) && other.parent == boxes[i].parent &&
                other.rect.height() > 0 && boxes[i].rect.height() > 0)
                return true;
        }
    }
    return false;
}

}  // namespace

class TstGraphScene : public QObject {
    Q_OBJECT

private slots:
    void drawsEveryNodeOfEveryExportOnce() {
        const auto manifest = sharedFile("models/manifest.json");
        SKIP_WITHOUT(manifest, "models/manifest.json");
        QFile file(QString::fromStdString(manifest->string()));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QJsonObject entries = QJsonDocument::fromJson(file.readAll()).object();
        QVERIFY(!entries.isEmpty());
        for (const auto& path : sharedModels()) {
            const QJsonObject entry =
                entries.value(QString::fromStdString(path.filename().string())).toObject();
            const auto model = Model::load(path);
            QVERIFY2(model, path.c_str());
            const auto scene = sceneOf(*model);
            scene->expandAll();
            const auto placed = scene->place();
            QCOMPARE(placed->drawnNodeCount(),
                     entry.value(QStringLiteral("nodes_incl_subgraphs")).toInt());
            checkPlaced(*placed);
            QVERIFY2(!overlap(*placed), path.c_str());
        }
    }

    void bodiesAndFunctionsAreScopes() {
        const auto model =
            ModelBuilder{}
                .input("c", {1}, onnx::TensorProto::BOOL)
                .input("x", {4})
                .op("If", {"c"}, {"y"}, "choose",
                    {{"then_branch",
                      ModelBuilder{}.op("Relu", {"x"}, {"a"}, "t").output("a", {4}).graph()},
                     {"else_branch",
                      ModelBuilder{}.op("Neg", {"x"}, {"b"}, "e").output("b", {4}).graph()}})
                .opset("my", 1)
                .op("Twice", {"y"}, {"z"}, "call", {}, "my")
                .op("Twice", {"z"}, {"q"}, "again", {}, "my")
                .function(
                    "my", "Twice",
                    ModelBuilder{}.input("i", {4}).op("Add", {"i", "i"}, {"o"}, "add").output("o"))
                .output("q", {4})
                .model();
        const auto scene = sceneOf(model);
        scene->expandAll();
        const auto placed = scene->place();
        QCOMPARE(placed->drawnNodeCount(),
                 6);  // If, Relu, Neg, two calls, and the function's Add once.
        // A capture is drawn from the outer input into the body.
        const int inner = placed->boxOf(nodeNamed(model->graph(), "t"));
        QVERIFY(inner >= 0);
        QVERIFY(!placed->edgesOfValue(valueNamed(model->graph(), "x")).empty());
        checkPlaced(*placed);
    }

    void readingStartsAtTheGraphNotInAFunction() {
        // The function's frame is tall: the graph's input lies lower beside it.
        ModelBuilder function;
        function.input("f0", {4});
        for (int i = 0; i < 8; ++i)
            function.op("Neg", {"f" + std::to_string(i)}, {"f" + std::to_string(i + 1)},
                        "neg" + std::to_string(i));
        const auto model = ModelBuilder{}
                               .opset("my", 1)
                               .input("x", {4})
                               .op("Relu", {"x"}, {"y"}, "first")
                               .op("Twice", {"y"}, {"z"}, "call", {}, "my")
                               .function("my", "Twice", function.output("f8"))
                               .output("z", {4})
                               .model();
        const auto scene = sceneOf(model);
        scene->expandAll();
        const auto placed = scene->place();
        const auto inputBox = [&](const char* name) {
            for (const PlacedBox& box : placed->boxes())
                if (box.kind == BoxKind::Input && model->graph().value(box.value).name == name)
                    return box.rect;
            return QRectF();
        };
        QVERIFY(inputBox("f0").top() < inputBox("x").top());
        QCOMPARE(placed->startRect(), inputBox("x"));
    }

    void madeUpSymbolsAreNoNames() {
        QVERIFY(isNamedSymbol("batch"));
        QVERIFY(!isNamedSymbol("unk__12"));
        QVERIFY(!isNamedSymbol("#3"));
        QVERIFY(!isNamedSymbol(""));
    }

    void inputsLieStraightOverWhatReadsThemInAnOpenScope() {
        // Two readers far apart, in the other order than the inputs.
        ModelBuilder builder;
        builder.input("p", {4}).input("q", {4});
        builder.op("Neg", {"q"}, {"a0"}, "s/a0");
        for (int i = 0; i < 6; ++i)
            builder.op("Relu", {"a0"}, {"b" + std::to_string(i)}, "s/b" + std::to_string(i));
        builder.op("Abs", {"p"}, {"c"}, "s/c");
        builder.op("Sum", {"b0", "b1", "b2", "b3", "b4", "b5", "c"}, {"y"}, "s/sum");
        const auto model = builder.output("y", {4}).model();
        const auto scene = sceneOf(model);
        scene->expandAll();
        const auto placed = scene->place();
        checkPlaced(*placed);
        QVERIFY(!overlap(*placed));
        for (const char* name : {"p", "q"}) {
            for (const int e : placed->edgesOfValue(valueNamed(model->graph(), name))) {
                const auto points = placed->points(placed->edges()[static_cast<std::size_t>(e)]);
                QVERIFY2(std::abs(points.front().x() - points.back().x()) < 2, name);
            }
        }
    }

    void omittedOptionalInputsAreNotJoined() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Clip", {"x", "", ""}, {"y"}, "one")
                               .op("Clip", {"y", "", ""}, {"z"}, "two")
                               .output("z", {4})
                               .model();
        const auto placed = sceneOf(model)->place();
        QCOMPARE(placed->edges().size(), std::size_t(3));
    }

    void nodesAmidAScopeAreDrawnInIt() {
        // As PyTorch's exporter writes it: the Split has no scope, what it reads and what reads it
        // do.
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Relu", {"x"}, {"a"}, "layer/first")
                               .op("Split", {"a"}, {"b", "c"}, "lost")
                               .op("Add", {"b", "c"}, {"d"}, "layer/last")
                               .op("Neg", {"d"}, {"y"}, "outside")
                               .output("y", {2})
                               .model();
        const auto scene = sceneOf(model);
        const GraphIndex& graph = model->graph();
        QCOMPARE(scene->structure().place(nodeNamed(graph, "lost")).scope, scopeAt(graph, "layer"));
        QCOMPARE(scene->structure().place(nodeNamed(graph, "outside")).scope, ScopeId(0));
        scene->collapseAll();
        for (const PlacedBox& box : scene->place()->boxes())
            QVERIFY(box.kind != BoxKind::PortalIn);
    }

    void scopeOfOneNodeHasNoBox() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Relu", {"x"}, {"a"}, "layer/proj/Relu")
                               .op("Neg", {"a"}, {"y"}, "layer/Neg")
                               .output("y", {4})
                               .model();
        const auto scene = sceneOf(model);
        const NodeId node = nodeNamed(model->graph(), "layer/proj/Relu");
        QCOMPARE(scene->structure().place(node).scope, scopeAt(model->graph(), "layer"));
        QVERIFY(!scene->setExpanded(scopeAt(model->graph(), "layer/proj"), true));
    }

    void openingLaysOutThatScopeOnly() {
        const auto model = stack(6);
        const auto scene = sceneOf(model);
        scene->collapseAll();
        scene->place();
        QVERIFY(scene->setExpanded(scopeAt(model->graph(), "model"), true));
        scene->place();
        const int before = scene->scopesLaidOut();
        QVERIFY(scene->setExpanded(scopeAt(model->graph(), "model/layers.3"), true));
        const SceneResult result = placeScene(scene->request());
        QCOMPARE(result.scopesLaidOut, 1);
        QCOMPARE(result.scopesArranged, 3);  // Itself and the scopes around it, whose sizes follow.
        scene->accept(result);
        QCOMPARE(scene->scopesLaidOut(), before + 1);
        QVERIFY(scene->setExpanded(scopeAt(model->graph(), "model/layers.3"), false));
        scene->place();
        QCOMPARE(scene->scopesLaidOut(), before + 1);
    }

    void equalScopesShareALayout() {
        const auto scene = sceneOf(stack(40));
        scene->expandAll();
        scene->place();
        // root, model, layer (the first and last may differ at their ends), norm, mlp
        QVERIFY2(scene->scopesLaidOut() <= 9, qPrintable(QString::number(scene->scopesLaidOut())));
    }

    void layoutIsDeterministic() {
        const auto one = sceneOf(stack(5)), two = sceneOf(stack(5));
        one->expandAll();
        two->collapseAll();
        two->place();
        two->expandAll();
        const auto a = one->place(), b = two->place();
        QCOMPARE(a->boxes().size(), b->boxes().size());
        for (std::size_t i = 0; i < a->boxes().size(); ++i)
            QCOMPARE(a->boxes()[i].rect, b->boxes()[i].rect);
    }

    void sharedInputOfManyScopesIsAPortal() {
        const auto model = stack(12);
        const auto scene = sceneOf(model);
        scene->collapseAll();
        scene->setExpanded(scopeAt(model->graph(), "model"), true);
        const auto placed = scene->place();
        int stubs = 0;
        for (const PlacedBox& box : placed->boxes())
            stubs +=
                box.kind == BoxKind::PortalIn && box.value == valueNamed(model->graph(), "mask");
        QCOMPARE(stubs, 12);
        QVERIFY(!overlap(*placed));
    }

    void revealOpensWhatIsAround() {
        const auto model = stack(12);
        const auto scene = sceneOf(model);
        scene->collapseAll();
        const NodeId node = nodeNamed(model->graph(), "model/layers.7/mlp/Relu");
        QCOMPARE(scene->place()->boxOf(node), -1);
        QVERIFY(scene->place()->visibleBox(node) >= 0);
        QVERIFY(scene->reveal(node));
        QVERIFY(!scene->reveal(node));
        const auto placed = scene->place();
        QVERIFY(placed->boxOf(node) >= 0);
        QCOMPARE(placed->boxAt(placed->rectOf(node).center()), placed->boxOf(node));
        QVERIFY(!scene->isExpanded(scopeAt(model->graph(), "model/layers.6")));
    }

    void walkingFollowsTheGraph() {
        const auto model = ModelBuilder{}
                               .input("x", {4})
                               .op("Relu", {"x"}, {"a"}, "top")
                               .op("Neg", {"a"}, {"b"}, "left")
                               .op("Abs", {"a"}, {"c"}, "right")
                               .op("Add", {"b", "c"}, {"y"}, "bottom")
                               .output("y", {4})
                               .model();
        const auto placed = sceneOf(model)->place();
        const auto box = [&](const char* name) {
            return placed->boxOf(nodeNamed(model->graph(), name));
        };
        QCOMPARE(
            placed->boxes()[static_cast<std::size_t>(placed->neighbour(box("top"), Walk::Producer))]
                .kind,
            BoxKind::Input);
        const int below = placed->neighbour(box("top"), Walk::Consumer);
        QVERIFY(below == box("left") || below == box("right"));
        QCOMPARE(placed->neighbour(below, Walk::Consumer), box("bottom"));
        QCOMPARE(placed->neighbour(below, Walk::Producer), box("top"));
        const bool leftFirst = placed->rectOf(nodeNamed(model->graph(), "left")).x() <
                               placed->rectOf(nodeNamed(model->graph(), "right")).x();
        const int leftmost = leftFirst ? box("left") : box("right"),
                  rightmost = leftFirst ? box("right") : box("left");
        QCOMPARE(placed->neighbour(leftmost, Walk::Right), rightmost);
        QCOMPARE(placed->neighbour(rightmost, Walk::Left), leftmost);
        QCOMPARE(placed->neighbour(leftmost, Walk::Left), -1);
        QCOMPARE(placed->neighbour(-1, Walk::Left), -1);
    }

    void findsBoxesAndLines() {
        const auto placed = sceneOf(stack(3))->place();
        for (std::size_t i = 0; i < placed->boxes().size(); ++i) {
            std::vector<int> found;
            placed->boxesIn(placed->boxes()[i].rect, found);
            QVERIFY(std::find(found.begin(), found.end(), static_cast<int>(i)) != found.end());
        }
        const PlacedEdge& edge = placed->edges().front();
        const QPointF middle = (placed->points(edge)[0] + placed->points(edge)[1]) / 2;
        QVERIFY(placed->edgeAt(middle, 3) >= 0);
        QCOMPARE(placed->edgeAt(placed->bounds().bottomRight() + QPointF(500, 500), 3), -1);
    }

    void cancelledPlacingGivesNothing() {
        const auto scene = sceneOf(stack(3));
        const CancelToken token = CancelToken::create();
        token.cancel();
        QVERIFY(!scene->place(token));
        QVERIFY(!SceneStructure::build(stack(3), FixedTextMetrics(), token));
    }

    void emptyGraphHasADrawing() {
        const auto placed = sceneOf(ModelBuilder{}.model())->place();
        QVERIFY(placed);
        QCOMPARE(placed->drawnNodeCount(), 0);
    }

    void namesAreShownPlainly() {
        QCOMPARE(cleanText("a\nb\x01"), QStringLiteral("a\u240Ab\u2401"));
        QCOMPARE(cleanText(std::string(10000, 'x')).size(), qsizetype(161));
        QCOMPARE(cleanText("\u202Eabc"), QStringLiteral("\uFFFDabc"));
        QCOMPARE(cleanText("<b>&"), QStringLiteral("<b>&"));
        QCOMPARE(sameDigits("layers.12/x3"), std::string("layers.00/x00"));
    }
};

QTEST_MAIN(TstGraphScene)
#include "tst_graph_scene.moc"
