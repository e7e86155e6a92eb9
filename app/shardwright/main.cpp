// SPDX-License-Identifier: Apache-2.0
// The editor. Everything but arguments is in ui/.
#include "ui/canvas/graph_canvas.h"
#include "ui/panels/run_panel.h"
#include "ui/window/editor_session.h"
#include "ui/window/main_window.h"
#include "ui/window/recent_files.h"
#include "ui/window/theme.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QIcon>
#include <QPixmap>
#include <QSettings>
#include <QTimer>

#include <cstdio>
#include <cstdlib>
#include <utility>

using namespace shardwright;

namespace {

int usageError(const QString& message) {
    std::fprintf(stderr, "shardwright: %s\n", qPrintable(message));
    return 2;
}

/// Takes a picture of the window once nothing is pending any more, and ends the program.
void takeScreenshot(MainWindow* window, const QString& file, bool run) {
    constexpr int kPollMs = 50, kQuietPolls = 8, kPatienceMs = 120000;
    auto* timer = new QTimer(window);
    QObject::connect(
        timer, &QTimer::timeout, window, [window, file, timer, run, quiet = 0]() mutable {
            quiet = window->isSettled() ? quiet + 1 : 0;
            if (quiet < kQuietPolls)
                return;
            if (std::exchange(run, false)) {
                quiet = 0;
                window->runPanel()->start();
                return;
            }
            timer->stop();
            const bool saved = window->grab().save(file);
            if (!saved)
                std::fprintf(stderr, "shardwright: %s could not be written\n", qPrintable(file));
            QApplication::exit(saved ? 0 : 1);
        });
    timer->start(kPollMs);
    QTimer::singleShot(kPatienceMs, window, [] {
        std::fprintf(stderr, "shardwright: the window did not settle\n");
        QApplication::exit(1);
    });
}

}  // namespace

int main(int argc, char** argv) {
    QApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("shardwright"));
    QApplication::setOrganizationName(QStringLiteral("shardwright"));
    QApplication::setApplicationDisplayName(QStringLiteral("Shardwright"));
    QApplication::setApplicationVersion(QStringLiteral(SHARDWRIGHT_VERSION));
    QApplication::setDesktopFileName(QStringLiteral("shardwright"));

    QCommandLineParser parser;
    parser.setApplicationDescription(
        QApplication::tr("Editor for the multi-device annotations of ONNX models."));
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addPositionalArgument(QStringLiteral("MODEL"), QApplication::tr("The model to open."),
                                 QStringLiteral("[MODEL]"));
    const QCommandLineOption theme(QStringLiteral("theme"),
                                   QApplication::tr("system, light or dark."),
                                   QStringLiteral("NAME"));
    const QCommandLineOption screenshot(
        QStringLiteral("screenshot"),
        QApplication::tr(
            "Write a picture of the window once the model is drawn and checked, and quit."),
        QStringLiteral("FILE"));
    const QCommandLineOption size(QStringLiteral("size"),
                                  QApplication::tr("Of the window: 1440x900."),
                                  QStringLiteral("WxH"));
    const QCommandLineOption select(
        QStringLiteral("select"),
        QApplication::tr("Select the nodes that a search finds, such as op:MatMul."),
        QStringLiteral("SEARCH"));
    const QCommandLineOption panel(
        QStringLiteral("panel"),
        QApplication::tr("Bring this panel to the front: diagnostics, communication, proposals, "
                         "run, run/shards ..."),
        QStringLiteral("NAME"));
    const QCommandLineOption run(QStringLiteral("run"),
                                 QApplication::tr("Run the model before the picture is taken."));
    parser.addOptions({theme, screenshot, size, select, panel, run});
    parser.process(application);
    if (parser.positionalArguments().size() > 1)
        return usageError(QApplication::tr("one model at a time"));

    bool known = true;
    const QString themeText =
        parser.isSet(theme)
            ? parser.value(theme)
            : QSettings().value(QStringLiteral("theme"), themeName(ThemeChoice::System)).toString();
    const ThemeChoice choice = themeFromName(themeText, &known);
    if (!known && parser.isSet(theme))
        return usageError(
            QApplication::tr("--theme is system, light or dark, not %1").arg(themeText));
    applyTheme(choice);
    QApplication::setWindowIcon(QIcon(QStringLiteral(":/icons/shardwright.svg")));

    auto* window = new MainWindow;
    window->setAttribute(Qt::WA_DeleteOnClose);
    const QStringList sides = parser.value(size).split(u'x');
    if (parser.isSet(size)) {
        if (sides.size() != 2 || sides[0].toInt() < 200 || sides[1].toInt() < 200)
            return usageError(
                QApplication::tr("--size is like 1440x900, not %1").arg(parser.value(size)));
        window->resize(sides[0].toInt(), sides[1].toInt());
    }
    if (parser.isSet(screenshot)) {
        window->recentFiles()->freeze();
        QObject::connect(window->session(), &EditorSession::openFailed, window,
                         [](const QString& path, const QString& message) {
                             std::fprintf(stderr, "shardwright: %s: %s\n", qPrintable(path),
                                          qPrintable(message));
                             QTimer::singleShot(0, [] { QApplication::exit(2); });
                         });
    }
    window->show();
    if (!parser.positionalArguments().isEmpty())
        window->openFile(parser.positionalArguments().first());
    if (parser.isSet(panel))
        window->showPanel(parser.value(panel));
    if (parser.isSet(select))
        window->selectFound(parser.value(select));
    if (parser.isSet(screenshot))
        takeScreenshot(window, parser.value(screenshot), parser.isSet(run));
    return QApplication::exec();
}
