// SPDX-License-Identifier: Apache-2.0
#include "support/model_builder.h"
#include "support/shared_files.h"
#include "ui/canvas/export.h"
#include "ui/canvas/graph_canvas.h"
#include "ui/canvas/scene_painter.h"

#include <QElapsedTimer>
#include <QImage>
#include <QTimer>
#include <QtTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// Wide and flat: `columns` chains of `length` nodes.
std::shared_ptr<const Model> grid(int columns, int length) {
    ModelBuilder builder;
    builder.input("x", {4});
    for (int c = 0; c < columns; ++c) {
        std::string value = "x";
        for (int i = 0; i < length; ++i) {
            const std::string name = std::to_string(c) + "_" + std::to_string(i);
            builder.op(i % 3 == 0 ? "MatMul" : "Relu", {value}, {"v" + name},
                       "part" + std::to_string(c / 10) + "/n" + name);
            value = "v" + name;
        }
    }
    return builder.model();
}

/// Longest time between two turns of the event loop.
class StallWatch : public QObject {
public:
    StallWatch() {
        m_clock.start();
        m_timer.setInterval(1);
        connect(&m_timer, &QTimer::timeout, this,
                [this] { m_longest = std::max(m_longest, m_clock.restart()); });
        m_timer.start();
    }
    qint64 longest() const { return m_longest; }

private:
    QTimer m_timer;
    QElapsedTimer m_clock;
    qint64 m_longest = 0;
};

void paintAll(const PlacedScene& scene) {
    QImage image(1600, 1000, QImage::Format_RGB32);
    const CanvasTheme theme = CanvasTheme::fromPalette(QPalette());
    const double zoom = std::min(1600 / scene.bounds().width(), 1000 / scene.bounds().height());
    QBENCHMARK {
        QPainter painter(&image);
        painter.fillRect(image.rect(), theme.background);
        painter.scale(zoom, zoom);
        ScenePainter(painter, scene, theme, zoom).paint(scene.bounds());
    }
}

}  // namespace

class BenchCanvas : public QObject {
    Q_OBJECT

private slots:
    void paintsSeventeenThousandBoxes() {
        const auto scene = drawModel(grid(170, 100), true);
        QVERIFY(scene->boxes().size() >= 17000);
        paintAll(*scene);
    }

    void opensLlama() {
        const auto path = sharedFile("models/llama_32l_gqa_legacy.onnx");
        SKIP_WITHOUT(path, "models/llama_32l_gqa_legacy.onnx");
        const auto model = Model::load(*path);
        QVERIFY(model);
        StallWatch watch;
        QElapsedTimer clock;
        clock.start();
        GraphCanvas canvas;
        canvas.resize(1400, 900);
        canvas.show();
        canvas.setModel(*model);
        QTRY_VERIFY_WITH_TIMEOUT(canvas.scene(), 20000);
        qInfo("first drawing after %lld ms, longest stall %lld ms", clock.elapsed(),
              watch.longest());
        clock.restart();
        canvas.expandAll();
        QTRY_VERIFY_WITH_TIMEOUT(!canvas.isBusy(), 60000);
        qInfo("everything open after %lld ms, longest stall %lld ms", clock.elapsed(),
              watch.longest());
        QCOMPARE(canvas.scene()->drawnNodeCount(), 7343);
        paintAll(*canvas.scene());
    }

    void opensHundredThousandNodes() {
        ModelBuilder builder;
        builder.input("v0", {4});
        for (int i = 0; i < 100000; ++i)
            builder.op("Identity", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)},
                       "n" + std::to_string(i));
        const auto model = builder.model();
        StallWatch watch;
        QElapsedTimer clock;
        clock.start();
        GraphCanvas canvas;
        canvas.resize(1400, 900);
        canvas.show();
        canvas.setModel(model);
        QTRY_VERIFY_WITH_TIMEOUT(canvas.scene(), 20000);
        qInfo("first drawing after %lld ms, longest stall %lld ms", clock.elapsed(),
              watch.longest());
        clock.restart();
        canvas.expandAll();
        QTRY_VERIFY_WITH_TIMEOUT(!canvas.isBusy(), 60000);
        qInfo("everything open after %lld ms, longest stall %lld ms", clock.elapsed(),
              watch.longest());
        QCOMPARE(canvas.scene()->drawnNodeCount(), 100000);
    }
};

QTEST_MAIN(BenchCanvas)
#include "bench_canvas.moc"
