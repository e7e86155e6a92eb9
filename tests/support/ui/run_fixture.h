// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/ui/editor_fixture.h"
#include "ui/canvas/graph_canvas.h"
#include "ui/panels/rows_view.h"
#include "ui/panels/run_panel.h"
#include "ui/panels/run_results.h"
#include "ui/window/run_client.h"
#include "ui/window/theme.h"

#include <QFile>
#include <QLabel>
#include <QSignalSpy>
#include <QTest>
#include <QTreeView>

#include <optional>

namespace shardwright::test {

/// A run panel with the MLP on two devices, and a worker that does what the test says.
struct RunFixture {
    Sandbox box;
    EditorSession session;
    RunPanel panel{&session};
    QSignalSpy finished{&panel, &RunPanel::finished};
    QSignalSpy nodes{&panel, &RunPanel::nodeWanted};

    RunFixture() {
        applyTheme(ThemeChoice::Light);
        QObject::connect(&session, &EditorSession::analysisChanged, &panel, &RunPanel::setAnalysis);
        panel.resize(900, 320);
        panel.show();
        if (!openAndAnalyse(session, box.write("m.onnx", mlp().bytes())))
            qFatal("not opened");
        addMesh(session);
    }
    ~RunFixture() {
        qunsetenv("SHARDWRIGHT_WORKER");
        qunsetenv("SHARDWRIGHT_CLI");
    }

    /// A program that does what the script says; `$DIR` is the test's folder.
    QString program(const QString& name, const QString& script) const {
        const QString path = box.write(
            name, ("#!/bin/sh\nDIR=" + box.path("") + "\n" + script + "\n").toStdString());
        QFile::setPermissions(path, QFile::permissions(path) | QFile::ExeOwner);
        return path;
    }
    void worker(const QString& script) const {
        qputenv("SHARDWRIGHT_WORKER", program("worker.sh", script).toLocal8Bit());
    }
    void events(const std::vector<RunEvent>& list) const {
        std::string bytes;
        for (const RunEvent& event : list)
            bytes += encodeEvent(event);
        box.write("events", bytes);
    }
    /// A worker that takes the request, and tells the events at finish().
    void answer() const {
        worker("exec 3<&0; cat <&3 > $DIR/request & trap \"kill $!\" EXIT\n"
               "while [ ! -e $DIR/go ]; do sleep 0.02; done\n"
               "cat $DIR/events");
    }
    /// What that worker was asked for.
    std::optional<RunRequest> request() const {
        std::optional<RunRequest> request;
        const bool came = QTest::qWaitFor(
            [&] {
                const QByteArray sent = Sandbox::read(box.path("request"));
                std::string_view bytes(sent.constData(), static_cast<std::size_t>(sent.size()));
                const auto message = takeMessage(bytes);
                if (!message || !*message)
                    return false;
                if (auto decoded = decodeRequest(**message))
                    request = std::move(*decoded);
                return request.has_value();
            },
            30000);
        return came ? request : std::nullopt;
    }
    /// Lets it tell its events, and waits for its end.
    bool finish() {
        if (!request())
            return false;
        const auto before = finished.count();
        box.write("go", "");
        const bool over = QTest::qWaitFor([&] { return finished.count() > before; }, 30000);
        QFile::remove(box.path("go"));
        QFile::remove(box.path("request"));
        return over;
    }
    NodeId lastNode() const {
        return nodes.isEmpty() ? NodeId() : nodes.last().front().value<NodeId>();
    }
    static void click(RowsView* view, int row) {
        QTreeView* tree = view->view();
        QTest::mouseClick(tree->viewport(), Qt::LeftButton, {},
                          tree->visualRect(tree->model()->index(row, 0)).center());
    }
};

inline RunReport report() {
    RunReport report;
    report.verified = true;
    report.outputs = {{"y", 1e-7, 2e-7, 1e-5, true, ""}};
    report.devices = {{1, 1, 6, 1, 1, 1000, 1200}, {0, 1, 4, 1, 0, 1000, 1200}};
    report.predicted = {{"all-reduce", {1, 32768}}};
    report.executed = {{"all-reduce", {1, 32768}}};
    report.wallMs = 8;
    return report;
}

}  // namespace shardwright::test
