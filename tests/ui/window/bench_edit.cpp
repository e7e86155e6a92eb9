// SPDX-License-Identifier: Apache-2.0
// What a person at the window waits for after an edit that reaches a whole graph of 1k, 10k and
// 100k nodes, and how long the window does not answer meanwhile
// (processor time of its thread). Run it from a release build.
#include "check/assign.h"
#include "support/generated_transformer.h"
#include "support/ui/editor_fixture.h"
#include "ui/canvas/graph_canvas.h"
#include "ui/canvas/placed_scene.h"
#include "ui/window/main_window.h"

#include <QElapsedTimer>
#include <QTest>
#include <QTimer>

#include <algorithm>
#include <ctime>

using namespace shardwright;
using namespace shardwright::test;

namespace {

double since(const QElapsedTimer& timer) {
    return static_cast<double>(timer.nsecsElapsed()) / 1e6;
}

/// Milliseconds of processor time of this thread: what other programs do does not count.
double ownTime() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

}  // namespace

class BenchEdit : public QObject {
    Q_OBJECT
private slots:
    void anEditThatReachesTheWholeGraph_data() {
        QTest::addColumn<int>("nodes");
        for (const int nodes : {1000, 10'000, 100'000})
            QTest::addRow("%d nodes", nodes) << nodes;
    }
    void anEditThatReachesTheWholeGraph() {
        QFETCH(int, nodes);
        Sandbox box;
        MainWindow window;
        window.resize(1300, 850);
        window.show();
        EditorSession& session = *window.session();
        TransformerSizes sizes;
        sizes.layers = nodes / transformerNodesPerLayer();
        sizes.external = true;
        session.open(box.write("m.onnx", transformer(sizes).bytes()));
        QVERIFY(QTest::qWaitFor([&] { return window.isSettled(); }, 120'000));
        session.push(editConfiguration(session.document(), "c", {{{"tp", 2}}}));
        QVERIFY(QTest::qWaitFor([&] { return window.isSettled(); }, 60'000));
        const NodeId shown =
            nodeNamed(session.document().graph(),
                      "model/layers." + std::to_string(sizes.layers / 4) + "/mlp/gate_proj/MatMul");
        window.canvas()->setSelection({shown});
        window.canvas()->centreOn(shown);
        QVERIFY(
            QTest::qWaitFor([&] { return window.canvas()->scene()->boxOf(shown) >= 0; }, 60'000));
        window.canvas()->setZoom(1.0);
        window.canvas()->centreOn(shown);
        QTest::qWait(400);

        QElapsedTimer timer;
        double pulse = 0;
        double piece = -1, lists = -1, stall = 0;
        QTimer heart;
        heart.setInterval(0);
        connect(&heart, &QTimer::timeout, this, [&] {
            stall = std::max(stall, ownTime() - pulse);
            pulse = ownTime();
        });
        connect(&session, &EditorSession::pieceAnalysed, this, [&] { piece = since(timer); });
        double whole = -1;
        connect(&session, &EditorSession::analysisChanged, this, [&] { whole = since(timer); });
        const TensorSlot ids{nodeNamed(session.document().graph(), "model/embed/Gather"), false, 1};
        auto edit = assignAxes(session.document(), *session.analysis(), {&ids, 1}, 0, {0});
        QVERIFY(edit);
        timer.start();
        pulse = ownTime();
        heart.start();
        session.push(*edit);
        QVERIFY(QTest::qWaitFor([&] { return window.isSettled(); }, 60'000));
        lists = since(timer);
        qInfo(
            "%zu nodes: first piece %.1f ms after the edit, the whole %.1f ms, all drawn %.1f ms; "
            "the window's longest turn %.1f ms",
            session.document().graph().nodes.size(), piece, whole, lists, stall);
    }
};

QTEST_MAIN(BenchEdit)
#include "bench_edit.moc"
