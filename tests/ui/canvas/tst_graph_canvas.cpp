// SPDX-License-Identifier: Apache-2.0
#include "check/analysis.h"
#include "support/model_builder.h"
#include "support/shared_files.h"
#include "ui/canvas/box_text.h"
#include "ui/canvas/export.h"
#include "ui/canvas/graph_canvas.h"
#include "ui/canvas/minimap.h"
#include "ui/canvas/overlay.h"

#include <QImage>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// x -> one -> two -> three -> y, and two more layers in scopes of two nodes.
std::shared_ptr<const Model> smallModel() {
    return ModelBuilder{}
        .input("x", {4, 8})
        .weight("w", {8, 8})
        .op("MatMul", {"x", "w"}, {"a"}, "one")
        .op("Relu", {"a"}, {"b"}, "two")
        .op("Neg", {"b"}, {"c"}, "layer/first")
        .op("Abs", {"c"}, {"d"}, "layer/second")
        .output("d", {4, 8})
        .model();
}

std::shared_ptr<const Model> longChain(int length) {
    ModelBuilder builder;
    builder.input("v0", {4});
    for (int i = 0; i < length; ++i)
        builder.op("Relu", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)},
                   "n" + std::to_string(i));
    return builder.output("v" + std::to_string(length), {4}).model();
}

struct Shown {
    explicit Shown(std::shared_ptr<const Model> m) : model(std::move(m)) {
        canvas.resize(900, 700);
        canvas.show();
        canvas.setModel(model);
        if (!QTest::qWaitFor([&] { return canvas.scene() && !canvas.isBusy(); }, 30000))
            qFatal("no drawing");
    }
    bool wait() const {
        return QTest::qWaitFor([&] { return !canvas.isBusy(); }, 30000);
    }
    NodeId node(const char* name) const { return nodeNamed(model->graph(), name); }
    ScopeId scope(const std::string& path) const {
        for (const ScopeInfo& scope : model->graph().scopes) {
            if (scope.path == path)
                return scope.id;
        }
        return {};
    }
    QPoint at(NodeId node) const {
        return canvas.fromScene(canvas.scene()->rectOf(node).center()).toPoint();
    }
    QRectF rectOf(ScopeId scope) const {
        return canvas.scene()->boxes()[static_cast<std::size_t>(canvas.scene()->boxOf(scope))].rect;
    }
    void click(NodeId node, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mouseClick(canvas.viewport(), Qt::LeftButton, modifiers, at(node));
    }

    std::shared_ptr<const Model> model;
    GraphCanvas canvas;
};

std::shared_ptr<const Analysis> analysisOf(std::shared_ptr<const Model> model) {
    Analyser analyser;
    Document document{model, model->annotations()};
    auto result = analyser.run(document, {});
    return result ? *result : nullptr;
}

std::vector<QRectF> places(const PlacedScene& scene) {
    std::vector<QRectF> rects;
    for (const PlacedBox& box : scene.boxes())
        rects.push_back(box.rect);
    return rects;
}

}  // namespace

class TstGraphCanvas : public QObject {
    Q_OBJECT

private slots:
    void clickSelectsAndControlAdds() {
        Shown shown(smallModel());
        QSignalSpy spy(&shown.canvas, &GraphCanvas::selectionChanged);
        shown.click(shown.node("one"));
        QCOMPARE(shown.canvas.selectedNodes(), QList<NodeId>{shown.node("one")});
        shown.click(shown.node("two"), Qt::ControlModifier);
        QCOMPARE(shown.canvas.selectedNodes(),
                 (QList<NodeId>{shown.node("one"), shown.node("two")}));
        shown.click(shown.node("one"), Qt::ControlModifier);
        QCOMPARE(shown.canvas.selectedNodes(), QList<NodeId>{shown.node("two")});
        QCOMPARE(spy.count(), 3);
        QTest::keyClick(&shown.canvas, Qt::Key_Escape);
        QVERIFY(shown.canvas.selectedNodes().isEmpty());
    }

    void shiftClickAddsToo() {
        Shown shown(smallModel());
        shown.click(shown.node("one"));
        shown.click(shown.node("two"), Qt::ShiftModifier);
        QCOMPARE(shown.canvas.selectedNodes(),
                 (QList<NodeId>{shown.node("one"), shown.node("two")}));
    }

    void theZoomIsSaidWhenTheDrawingComes() {
        GraphCanvas canvas;
        QSignalSpy zoomed(&canvas, &GraphCanvas::zoomChanged);
        canvas.resize(900, 700);
        canvas.show();
        canvas.setModel(smallModel());
        QTRY_VERIFY(canvas.scene());
        // At 100 % as well, at which it may have been before.
        QVERIFY(zoomed.count() > 0);
        QCOMPARE(zoomed.back().front().toDouble(), canvas.zoom());
    }

    void boxContentsChangeTheBoxesAndKeepTheRest() {
        Shown shown(smallModel());
        shown.canvas.setExpanded(shown.scope("layer"), false);
        QVERIFY(shown.wait());
        shown.click(shown.node("two"));
        const double height = shown.canvas.scene()->rectOf(shown.node("one")).height();
        const QPointF place =
            shown.canvas.fromScene(shown.canvas.scene()->rectOf(shown.node("two")).topLeft());
        shown.canvas.setBoxContents({true, false, false});
        QVERIFY(shown.wait());
        QVERIFY(shown.canvas.scene()->rectOf(shown.node("one")).height() < height);
        QVERIFY(!shown.canvas.isExpanded(shown.scope("layer")));
        QCOMPARE(shown.canvas.selectedNodes(), QList<NodeId>{shown.node("two")});
        const QPointF now =
            shown.canvas.fromScene(shown.canvas.scene()->rectOf(shown.node("two")).topLeft());
        QVERIFY((now - place).manhattanLength() < 2);
    }

    void aNewDrawingDoesNotStopTheWayToTheSelection() {
        Shown shown(longChain(60));
        const NodeId far = shown.node("n8");
        shown.canvas.setSelection({far});
        shown.canvas.setBoxContents({false, false, false});
        shown.canvas.centreOn(far);
        const auto before = shown.canvas.scene();
        QTRY_VERIFY(shown.canvas.scene() != before && !shown.canvas.isBusy());
        const auto fromMiddle = [&] {
            const QRectF box = shown.canvas.scene()->rectOf(far);
            return std::abs(shown.canvas.fromScene(box.center()).y() -
                            shown.canvas.viewport()->height() / 2.0);
        };
        QTRY_VERIFY(fromMiddle() < 60);
    }

    void theViewMayMoveWhileADrawingIsMade() {
        Shown shown(longChain(60));
        const NodeId held = shown.node("n4");
        shown.canvas.setSelection({held});
        const auto before = shown.canvas.scene();
        shown.canvas.setBoxContents({false, false, false});
        shown.canvas.centreOnScenePoint(before->rectOf(held).center() + QPointF(0, 150));
        const QPointF place = shown.canvas.fromScene(before->rectOf(held).topLeft());
        QTRY_VERIFY(shown.canvas.scene() != before);
        const QPointF now = shown.canvas.fromScene(shown.canvas.scene()->rectOf(held).topLeft());
        QVERIFY((now - place).manhattanLength() < 3);
    }

    void attributesCanBeShownInBoxes() {
        const auto model = ModelBuilder{}
                               .input("x", {4, 8})
                               .op("Softmax", {"x"}, {"y"}, "soft", {{"axis", 1}})
                               .output("y", {4, 8})
                               .model();
        const NodeId node = nodeNamed(model->graph(), "soft");
        QCOMPARE(attributeLines(model->graph(), node), std::vector<std::string>{"axis  1"});
        Shown shown(model);
        const double height = shown.canvas.scene()->rectOf(node).height();
        shown.canvas.setBoxContents({true, true, true});
        QVERIFY(shown.wait());
        QVERIFY(shown.canvas.scene()->rectOf(node).height() > height);
    }

    void longAttributesAreCutBetweenCharacters() {
        const std::string word(44, 'a');
        const auto model =
            ModelBuilder{}
                .input("x", {4})
                .op("Identity", {"x"}, {"y"}, "n", {{"t", word + "\u00e4\u00e4\u00e4"}}, "my")
                .opset("my", 1)
                .output("y")
                .model();
        const auto lines = attributeLines(model->graph(), nodeNamed(model->graph(), "n"));
        QCOMPARE(lines.size(), std::size_t(1));
        QVERIFY(!QString::fromStdString(lines[0]).contains(QChar::ReplacementCharacter));
        QVERIFY(QString::fromStdString(lines[0]).endsWith(QChar(0x2026)));
    }

    void insideAScopeThePathIsSaid() {
        ModelBuilder builder;
        builder.input("v0", {4});
        for (int i = 0; i < 40; ++i)
            builder.op("Relu", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)},
                       "outer/inner/n" + std::to_string(i));
        Shown shown(builder.output("v40", {4}).model());
        shown.canvas.goToInputs();
        QVERIFY(shown.canvas.whereText().isEmpty());
        shown.canvas.centreOn(shown.node("outer/inner/n30"));
        QTRY_VERIFY(shown.canvas.whereText().contains(QStringLiteral("outer")));
        QVERIFY(shown.canvas.whereText().indexOf(QStringLiteral("outer")) <
                shown.canvas.whereText().indexOf(QStringLiteral("inner")));
    }

    void theSelectionHasARectangle() {
        Shown shown(smallModel());
        QVERIFY(shown.canvas.selectionRect().isNull());
        const NodeId one = shown.node("one"), two = shown.node("two");
        shown.canvas.setSelection({one, two});
        QCOMPARE(shown.canvas.selectionRect(),
                 shown.canvas.scene()->rectOf(one) | shown.canvas.scene()->rectOf(two));
        shown.canvas.selectValue(valueNamed(shown.model->graph(), "a"));
        QVERIFY(shown.canvas.selectionRect().contains(shown.canvas.scene()->rectOf(two)));
        shown.canvas.selectScope(shown.scope("layer"));
        QCOMPARE(shown.canvas.selectionRect(), shown.rectOf(shown.scope("layer")));
    }

    void clickOnLineSelectsTheTensor() {
        Shown shown(smallModel());
        const ValueId value = valueNamed(shown.model->graph(), "a");
        const auto edges = shown.canvas.scene()->edgesOfValue(value);
        QVERIFY(!edges.empty());
        const auto points = shown.canvas.scene()->points(
            shown.canvas.scene()->edges()[static_cast<std::size_t>(edges[0])]);
        const QPointF middle = (points[0] + points[1]) / 2;
        QTest::mouseClick(shown.canvas.viewport(), Qt::LeftButton, {},
                          shown.canvas.fromScene(middle).toPoint());
        QCOMPARE(shown.canvas.selectedValue(), value);
    }

    void arrowsWalkAndBackspaceReturns() {
        Shown shown(smallModel());
        shown.click(shown.node("one"));
        QTest::keyClick(&shown.canvas, Qt::Key_Down);
        QCOMPARE(shown.canvas.selectedNodes(), QList<NodeId>{shown.node("two")});
        QTest::keyClick(&shown.canvas, Qt::Key_Up);
        QCOMPARE(shown.canvas.selectedNodes(), QList<NodeId>{shown.node("one")});
        QTest::keyClick(&shown.canvas, Qt::Key_Up);
        QCOMPARE(shown.canvas.selectedValue(), valueNamed(shown.model->graph(), "x"));
        QTest::keyClick(&shown.canvas, Qt::Key_Backspace);
        QCOMPARE(shown.canvas.selectedNodes(), QList<NodeId>{shown.node("one")});
    }

    void doubleClickAndEnterToggleScopes() {
        Shown shown(smallModel());
        const ScopeId scope = shown.scope("layer");
        QVERIFY(shown.canvas.isExpanded(scope));
        QSignalSpy spy(&shown.canvas, &GraphCanvas::scopeToggled);
        const QPointF title = shown.rectOf(scope).topLeft() + QPointF(80, 12);
        QTest::mouseDClick(shown.canvas.viewport(), Qt::LeftButton, {},
                           shown.canvas.fromScene(title).toPoint());
        QVERIFY(shown.wait());
        QVERIFY(!shown.canvas.isExpanded(scope));
        QCOMPARE(shown.canvas.scene()->boxOf(shown.node("layer/first")), -1);
        QTest::mouseClick(shown.canvas.viewport(), Qt::LeftButton, {},
                          shown.canvas.fromScene(shown.rectOf(scope).center()).toPoint());
        QCOMPARE(shown.canvas.selectedScope(), scope);
        QTest::keyClick(&shown.canvas, Qt::Key_Return);
        QVERIFY(shown.wait());
        QVERIFY(shown.canvas.isExpanded(scope));
        QVERIFY(spy.count() >= 2);
    }

    void togglingKeepsTheTitleInPlace() {
        Shown shown(smallModel());
        const ScopeId scope = shown.scope("layer");
        const QPointF before = shown.canvas.fromScene(shown.rectOf(scope).topLeft());
        shown.canvas.setExpanded(scope, false);
        QVERIFY(shown.wait());
        const QPointF after = shown.canvas.fromScene(shown.rectOf(scope).topLeft());
        QVERIFY2((before - after).manhattanLength() < 2,
                 qPrintable(QStringLiteral("%1 %2").arg(after.x()).arg(after.y())));
    }

    void rubberBandSelects() {
        Shown shown(smallModel());
        const QRectF one = shown.canvas.scene()->rectOf(shown.node("one"));
        const QRectF two = shown.canvas.scene()->rectOf(shown.node("two"));
        const QRectF both = one.united(two).adjusted(-6, -6, 6, 6);
        const QPoint from = shown.canvas.fromScene(both.topLeft()).toPoint(),
                     to = shown.canvas.fromScene(both.bottomRight()).toPoint();
        QTest::mousePress(shown.canvas.viewport(), Qt::LeftButton, Qt::ShiftModifier, from);
        QMouseEvent move(QEvent::MouseMove, to, shown.canvas.viewport()->mapToGlobal(to),
                         Qt::NoButton, Qt::LeftButton, Qt::ShiftModifier);
        QCoreApplication::sendEvent(shown.canvas.viewport(), &move);
        QTest::mouseRelease(shown.canvas.viewport(), Qt::LeftButton, Qt::ShiftModifier, to);
        QCOMPARE(shown.canvas.selectedNodes().size(), 2);
    }

    void controlWheelZoomsAtTheMouse() {
        Shown shown(smallModel());
        const QPointF mouse(300, 200);
        const QPointF held = shown.canvas.toScene(mouse);
        QWheelEvent wheel(mouse, shown.canvas.viewport()->mapToGlobal(mouse), {}, {0, 120},
                          Qt::NoButton, Qt::ControlModifier, Qt::NoScrollPhase, false);
        const double zoom = shown.canvas.zoom();
        QCoreApplication::sendEvent(shown.canvas.viewport(), &wheel);
        QVERIFY(shown.canvas.zoom() > zoom);
        QVERIFY((shown.canvas.toScene(mouse) - held).manhattanLength() < 1);
    }

    void zoomKeys() {
        Shown shown(smallModel());
        QTest::keyClick(&shown.canvas, Qt::Key_0);
        QCOMPARE(shown.canvas.zoom(), 1.0);
        QTest::keyClick(&shown.canvas, Qt::Key_Plus);
        QVERIFY(shown.canvas.zoom() > 1);
        QTest::keyClick(&shown.canvas, Qt::Key_Down, Qt::ShiftModifier);
        QCOMPARE(shown.canvas.zoom(), 1.0);
        QTest::keyClick(&shown.canvas, Qt::Key_F);
        QVERIFY(shown.canvas.visibleSceneRect().contains(shown.canvas.scene()->bounds()));
    }

    void longChainOpensReadableAtTheInputs() {
        Shown shown(longChain(300));
        QVERIFY(shown.canvas.zoom() >= 0.6);
        QVERIFY(shown.canvas.visibleSceneRect().intersects(shown.canvas.scene()->startRect()));
        QVERIFY(shown.canvas.scene()->bounds().height() >
                10 * shown.canvas.visibleSceneRect().height());
        QTest::keyClick(&shown.canvas, Qt::Key_F);
        QTest::keyClick(&shown.canvas, Qt::Key_Home);
        QVERIFY(shown.canvas.visibleSceneRect().intersects(shown.canvas.scene()->startRect()));
    }

    void centringOpensTheScopesAround() {
        Shown shown(smallModel());
        shown.canvas.collapseAll();
        QVERIFY(shown.wait());
        QCOMPARE(shown.canvas.scene()->boxOf(shown.node("layer/second")), -1);
        shown.canvas.centreOn(shown.node("layer/second"));
        QVERIFY(shown.wait());
        const QRectF rect = shown.canvas.scene()->rectOf(shown.node("layer/second"));
        QVERIFY(shown.canvas.scene()->boxOf(shown.node("layer/second")) >= 0);
        QTRY_VERIFY(shown.canvas.visibleSceneRect().contains(rect));
    }

    void allCollapsedIsAllInView() {
        Shown shown(smallModel());
        // Far off, and small.
        for (int i = 0; i < 8; ++i)
            QTest::keyClick(&shown.canvas, Qt::Key_Minus);
        const double small = shown.canvas.zoom();
        shown.canvas.collapseAll();
        QVERIFY(shown.wait());
        const QRectF bounds = shown.canvas.scene()->bounds();
        const QRectF view = shown.canvas.visibleSceneRect();
        QVERIFY(view.contains(bounds));
        QVERIFY(shown.canvas.zoom() > small);
        QVERIFY(std::abs(view.center().x() - bounds.center().x()) * shown.canvas.zoom() < 2);
        QVERIFY(std::abs(view.center().y() - bounds.center().y()) * shown.canvas.zoom() < 2);
    }

    void analysisMovesNothing() {
        Shown shown(smallModel());
        const auto scene = shown.canvas.scene();
        const auto before = places(*scene);
        const QRectF view = shown.canvas.visibleSceneRect();
        const auto analysis = analysisOf(shown.model);
        QVERIFY(analysis);
        shown.canvas.setAnalysis(analysis);
        QVERIFY(shown.wait());
        shown.canvas.setEdgeText(GraphCanvas::EdgeText::Layout);
        shown.canvas.setAnalysis(nullptr);
        QCOMPARE(shown.canvas.scene(), scene);
        QCOMPARE(places(*shown.canvas.scene()), before);
        QCOMPARE(shown.canvas.visibleSceneRect(), view);
    }

    void marksComeFromTheAnalysis() {
        const auto model = smallModel();
        auto analysis = std::make_shared<Analysis>();
        analysis->document.model = model;
        analysis->hasConfiguration = true;
        analysis->configuration.mesh = {{{"dp", 2}, {"tp", 4}}};
        const GraphIndex& graph = model->graph();
        PersistentArray<NodeMeaning>::Editor nodes(graph.nodes.size());
        PersistentArray<ValueMeaning>::Editor values(graph.values.size());
        const NodeId node = nodeNamed(graph, "layer/first");
        const auto layout = encode(analysis->configuration.mesh, {{{}, {{8, {1}}}}}, {4, 8});
        QVERIFY(layout);
        SlotMeaning slot;
        slot.source = LayoutSource::Explicit;
        slot.layout = std::make_shared<const Layout>(*layout);
        nodes.edit(node.index()).outputs = {slot};
        // A split input of a node whose result is joined.
        const auto input = encode(analysis->configuration.mesh, {{{{4, {0}}}, {}}}, {4, 8});
        QVERIFY(input);
        SlotMeaning inferred;
        inferred.source = LayoutSource::Inferred;
        inferred.layout = std::make_shared<const Layout>(*input);
        const NodeId second = nodeNamed(graph, "layer/second");
        nodes.edit(second.index()).inputs = {inferred};
        analysis->meaning.nodes = std::move(nodes).finish();
        analysis->meaning.values = std::move(values).finish();
        CommEntry entry;
        entry.kind = CollectiveKind::AllReduce;
        entry.node = node;
        entry.value = valueNamed(graph, "c");
        entry.groups = {{0, 1}, {2, 3}};
        entry.bytes = 128;
        analysis->communication.entries = {entry};
        Diagnostic error;
        error.node = node;
        analysis->diagnostics = {error};

        const auto structure = SceneStructure::build(model, FixedTextMetrics());
        const auto overlay = Overlay::build(analysis, *structure);
        QCOMPARE(overlay->node(node).axes, std::vector<int>{1});
        QVERIFY(overlay->node(node).explicitLayout);
        QCOMPARE(overlay->node(node).explicitAxes, std::vector<int>{1});
        QCOMPARE(overlay->node(second).axes, std::vector<int>{0});
        QVERIFY(overlay->node(second).explicitAxes.empty());
        QCOMPARE(overlay->node(node).errors, 1);
        const ScopeMarks& marks = overlay->scope(graph.node(node).scope);
        QCOMPARE(marks.collectives, 2);
        QCOMPARE(marks.bytes, std::int64_t(256));
        QCOMPARE(marks.errors, 1);
        QCOMPARE(marks.axes, (std::vector<int>{0, 1}));
        QCOMPARE(overlay->axisName(1), QStringLiteral("tp"));
    }

    void minimapFollowsAnotherLayout() {
        Shown shown(smallModel());
        Minimap map(&shown.canvas);
        map.resize(200, 150);
        map.show();
        const QRectF before = map.shownBounds();
        shown.canvas.setExpanded(shown.scope("layer"), false);
        QVERIFY(shown.wait());
        QVERIFY(map.shownBounds() != before);
        QCOMPARE(map.shownBounds(), shown.canvas.scene()->bounds());
        shown.canvas.setZoom(2);
        const QRectF frame = map.viewFrame();
        QTest::mouseClick(&map, Qt::LeftButton, {}, QPoint(100, 140));
        QVERIFY(map.viewFrame().center().y() > frame.center().y());
    }

    void selectionAndFindsAreSeenInBothPalettes() {
        Shown shown(smallModel());
        for (const bool dark : {false, true}) {
            QPalette palette;
            palette.setColor(QPalette::Base, dark ? QColor(30, 32, 36) : QColor(Qt::white));
            palette.setColor(QPalette::Text, dark ? QColor(230, 230, 230) : QColor(Qt::black));
            shown.canvas.setPalette(palette);
            QCOMPARE(shown.canvas.theme().dark, dark);
            shown.canvas.highlight({});
            const QImage plain = shown.canvas.viewport()->grab().toImage();
            shown.canvas.highlight({shown.node("two")});
            QVERIFY(shown.canvas.viewport()->grab().toImage() != plain);
        }
    }

    void strangeNamesAreHarmless() {
        Shown shown(
            ModelBuilder{}
                .input("<b>x</b>", {4})
                .op("Relu", {"<b>x</b>"}, {"a@/:\n\xF0\x9F\x98\x80"}, std::string(10000, 'n'))
                .op("Relu", {"a@/:\n\xF0\x9F\x98\x80"}, {""}, "")
                .op("Neg", {"a@/:\n\xF0\x9F\x98\x80"}, {"y"}, "<img src=x>\x01")
                .output("y", {4})
                .model());
        shown.canvas.setEdgeText(GraphCanvas::EdgeText::Name);
        QVERIFY(!shown.canvas.viewport()->grab().isNull());
        for (const PlacedBox& box : shown.canvas.scene()->boxes())
            QVERIFY(box.rect.width() < 400);
    }

    void exportsAllFormats() {
        const auto scene = drawModel(smallModel(), true);
        QTemporaryDir folder;
        QString error;
        for (const char* name : {"g.svg", "g.pdf", "g.png"}) {
            QVERIFY2(exportGraph(*scene, nullptr, folder.filePath(QLatin1String(name)), {}, &error),
                     qPrintable(error));
        }
        QFile svg(folder.filePath(QStringLiteral("g.svg")));
        QVERIFY(svg.open(QIODevice::ReadOnly));
        QVERIFY(svg.readAll().contains("MatMul"));
        const QImage png(folder.filePath(QStringLiteral("g.png")));
        QCOMPARE(png.width(), static_cast<int>(std::ceil(scene->bounds().width())));
        ExportOptions part;
        part.part = QRectF(0, 0, 60, 40);
        part.scale = 2;
        QVERIFY(
            exportGraph(*scene, nullptr, folder.filePath(QStringLiteral("p.png")), part, &error));
        QCOMPARE(QImage(folder.filePath(QStringLiteral("p.png"))).size(), QSize(120, 80));
    }

    void tooLargePngIsRefusedInWords() {
        const auto scene = drawModel(longChain(380), true);
        QTemporaryDir folder;
        QString error;
        QVERIFY(
            !exportGraph(*scene, nullptr, folder.filePath(QStringLiteral("g.png")), {}, &error));
        QVERIFY2(error.contains(QStringLiteral("16384")) && error.contains(QStringLiteral("SVG")),
                 qPrintable(error));
        QVERIFY(exportGraph(*scene, nullptr, folder.filePath(QStringLiteral("g.svg")), {}, &error));
        QVERIFY(
            !exportGraph(*scene, nullptr, folder.filePath(QStringLiteral("g.gif")), {}, &error));
        QVERIFY(!exportGraph(*scene, nullptr, QStringLiteral("/no/such/folder/g.svg"), {}, &error));
        QVERIFY(error.contains(QStringLiteral("/no/such/folder")));
    }

    void anotherModelReplacesTheFirst() {
        Shown shown(smallModel());
        shown.click(shown.node("one"));
        QSignalSpy ready(&shown.canvas, &GraphCanvas::sceneReady);
        shown.canvas.setModel(longChain(10));
        shown.canvas.setModel(longChain(20));
        QVERIFY(shown.canvas.selectedNodes().isEmpty());
        QVERIFY(ready.wait(20000));
        QCOMPARE(ready.count(), 1);
        QCOMPARE(shown.canvas.scene()->drawnNodeCount(), 20);
        shown.canvas.setModel(nullptr);
        QVERIFY(!shown.canvas.scene());
    }

    void textsCanBeReadOnTheirGround() {
        for (const bool dark : {false, true}) {
            QPalette palette;
            palette.setColor(QPalette::Base, dark ? QColor(30, 32, 36) : QColor(Qt::white));
            palette.setColor(QPalette::Text, dark ? QColor(230, 230, 230) : QColor(Qt::black));
            const CanvasTheme theme = CanvasTheme::fromPalette(palette);
            for (int f = 0; f <= static_cast<int>(OpFamily::Other); ++f)
                QVERIFY(contrast(theme.family(static_cast<OpFamily>(f)),
                                 theme.familyText(static_cast<OpFamily>(f))) >= 4.5);
            for (const auto& [text, ground] : {std::pair{theme.text, theme.box},
                                               {theme.mutedText, theme.box},
                                               {theme.mutedText, theme.background},
                                               {theme.mutedText, theme.scopeBox},
                                               {theme.mutedText, theme.scopeTitle},
                                               {theme.text, theme.scopeTitle},
                                               {theme.text, theme.input},
                                               {theme.text, theme.output},
                                               {theme.portalText, theme.portal},
                                               {theme.communication, theme.scopeBox}})
                QVERIFY2(contrast(text, ground) >= 4.5,
                         qPrintable(text.name() + " on " + ground.name()));
            for (int axis = 0; axis < 16; ++axis)
                QVERIFY(contrast(theme.axis(axis), readableOn(theme.axis(axis))) >= 4.5);
        }
    }
};

QTEST_MAIN(TstGraphCanvas)
#include "tst_graph_canvas.moc"
