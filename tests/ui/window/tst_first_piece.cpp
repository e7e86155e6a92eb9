// SPDX-License-Identifier: Apache-2.0
// After an edit that reaches far, what is in view is shown before the rest.
#include "check/assign.h"
#include "support/generated_transformer.h"
#include "support/ui/editor_fixture.h"
#include "ui/canvas/graph_canvas.h"
#include "ui/canvas/overlay.h"
#include "ui/canvas/placed_scene.h"
#include "ui/panels/diagnostics_panel.h"
#include "ui/panels/inspector_panel.h"
#include "ui/window/main_window.h"
#include "ui/window/nodes_in_view.h"
#include "ui/window/theme.h"

#include <QAbstractItemModel>
#include <QTest>
#include <QTreeView>

#include <algorithm>
#include <optional>

using namespace shardwright;
using namespace shardwright::test;

namespace {

using AnalysisPtr = std::shared_ptr<const Analysis>;

constexpr int kLayers = 60;

bool sameMarks(const NodeMarks& a, const NodeMarks& b) {
    return a.stage == b.stage && a.explicitLayout == b.explicitLayout && a.axes == b.axes &&
           a.explicitAxes == b.explicitAxes && a.communication.size() == b.communication.size() &&
           a.errors == b.errors && a.warnings == b.warnings;
}

}  // namespace

class TstFirstPiece : public QObject {
    Q_OBJECT
private slots:
    void init() {
        m_box.emplace();
        applyTheme(ThemeChoice::Light);
        m_window.emplace();
        m_window->resize(1300, 850);
        m_window->show();
        TransformerSizes sizes;
        sizes.layers = kLayers;
        sizes.external = true;
        QVERIFY(openAndAnalyse(session(), m_box->write("m.onnx", transformer(sizes).bytes())));
        QTRY_VERIFY(canvas()->scene());
        addMesh(session());
    }
    void cleanup() {
        m_window.reset();
        m_box.reset();
    }

    void whatIsInViewComesBeforeTheRest() {
        const NodeId shown = goTo("model/layers.30/mlp/gate_proj/MatMul");
        const NodeId far = node("model/layers.59/mlp/gate_proj/MatMul");
        const AnalysisPtr before = session().analysis();
        QStringList order;
        connect(&session(), &EditorSession::pieceAnalysed, this, [&](const AnalysisPtr& piece) {
            order << "piece";
            QVERIFY(piece->isPiece() && piece->covers(shown) && !piece->covers(far));
            QVERIFY(layoutAt(*piece, shown) != layoutAt(*before, shown));
            // On screen, while lists and edits still know the whole of before.
            QCOMPARE(canvas()->analysis(), piece);
            QVERIFY(layoutText().contains("tp"));
            QCOMPARE(session().analysis(), before);
            QVERIFY(!session().isAnalysisCurrent());
        });
        connect(&session(), &EditorSession::analysisChanged, this, [&](const AnalysisPtr& whole) {
            order << "whole";
            QVERIFY(!whole->isPiece());
            QVERIFY(layoutAt(*whole, far) != layoutAt(*before, far));
        });
        QVERIFY(!layoutText().contains("tp"));
        splitInput();
        QVERIFY(waitForAnalysis(session()));
        QCOMPARE(order, (QStringList{"piece", "whole"}));
        QCOMPARE(canvas()->analysis(), session().analysis());
    }

    void anEditBetweenThePieceAndTheRestIsAnalysedInstead() {
        goTo("model/layers.30/mlp/gate_proj/MatMul");
        int pieces = 0, wholes = 0;
        connect(&session(), &EditorSession::pieceAnalysed, this, [&] {
            if (++pieces == 1)
                session().undoStack()->undo();
        });
        connect(&session(), &EditorSession::analysisChanged, this, [&] { ++wholes; });
        const AnalysisPtr before = session().analysis();
        splitInput();
        QVERIFY(waitForAnalysis(session()));
        QTRY_VERIFY(session().isAnalysisCurrent() && wholes >= 1);
        QVERIFY(pieces >= 1);
        const NodeId far = node("model/layers.59/mlp/gate_proj/MatMul");
        QCOMPARE(layoutAt(*session().analysis(), far), layoutAt(*before, far));
        QVERIFY(!layoutText().contains("tp"));
    }

    void whatIsInViewIsWhatTheWindowShows() {
        const NodeId shown = goTo("model/layers.30/mlp/gate_proj/MatMul");
        const auto seen = nodesInView(*canvas());
        const auto isSeen = [&](NodeId id) { return std::ranges::find(seen, id) != seen.end(); };
        QVERIFY(isSeen(shown));
        QVERIFY(seen.size() < session().document().graph().nodes.size() / 2);
        // A closed scope shows something of all that is in it.
        canvas()->collapseAll();
        QTRY_VERIFY(canvas()->scene()->boxOf(shown) < 0);
        canvas()->clearSelection();
        canvas()->fitAll();
        QTRY_VERIFY(nodesInView(*canvas()).size() >= session().document().graph().nodes.size());
    }

    void thePieceIsDrawnOverWhatWasThere() {
        const NodeId shown = goTo("model/layers.30/mlp/gate_proj/MatMul");
        const NodeId far = node("model/layers.59/mlp/gate_proj/MatMul");
        const AnalysisPtr before = session().analysis();
        AnalysisPtr piece;
        connect(&session(), &EditorSession::pieceAnalysed, this,
                [&](const AnalysisPtr& each) { piece = each; });
        splitInput();
        QVERIFY(waitForAnalysis(session()));
        QVERIFY(piece);
        const SceneStructure& structure = *canvas()->scene()->structure();
        const auto old = Overlay::build(before, structure);
        const auto part = Overlay::build(piece, structure, {}, old.get());
        const auto whole = Overlay::build(session().analysis(), structure);
        for (const NodeId id : piece->piece)
            QVERIFY2(sameMarks(part->node(id), whole->node(id)),
                     session().document().graph().label(id).c_str());
        QVERIFY(!sameMarks(old->node(shown), whole->node(shown)));
        QVERIFY(sameMarks(part->node(far), old->node(far)));
        QVERIFY(!sameMarks(part->node(far), whole->node(far)));
        // Without what it goes on from, nothing is said of what is not in it.
        const auto alone = Overlay::build(piece, structure);
        QVERIFY(sameMarks(alone->node(shown), whole->node(shown)));
        QVERIFY(sameMarks(alone->node(far), NodeMarks{}));
    }

private:
    EditorSession& session() { return *m_window->session(); }
    GraphCanvas* canvas() { return m_window->canvas(); }
    NodeId node(const std::string& name) { return nodeNamed(session().document().graph(), name); }
    static LayoutRef layoutAt(const Analysis& analysis, NodeId node) {
        return analysis.meaning.nodes[node.index()].inputs[0].layout;
    }
    /// Of the first input of what is selected, as the inspector says it.
    QString layoutText() {
        const auto* table = m_window->inspector()->findChild<QTreeView*>("tensors");
        return table->model()->index(0, 2).data().toString();
    }
    /// Selects a node, at a scale at which one sees little else.
    NodeId goTo(const std::string& name) {
        const NodeId id = node(name);
        canvas()->setSelection({id});
        canvas()->centreOn(id);
        [&] { QTRY_VERIFY(canvas()->scene()->boxOf(id) >= 0); }();
        canvas()->setZoom(1.0);
        canvas()->centreOn(id);
        [&] {
            QTRY_VERIFY(canvas()->visibleSceneRect().contains(canvas()->scene()->rectOf(id)));
        }();
        return id;
    }
    /// An edit that reaches the whole graph.
    void splitInput() {
        const TensorSlot ids{node("model/embed/Gather"), false, 1};
        session().push(
            assignAxes(session().document(), *session().analysis(), {&ids, 1}, 0, {0}).value());
    }

    std::optional<Sandbox> m_box;
    std::optional<MainWindow> m_window;
};

QTEST_MAIN(TstFirstPiece)
#include "tst_first_piece.moc"
