// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#ifdef SHARDWRIGHT_WITH_UI
#include "ui/canvas/export.h"

#include <QGuiApplication>
#include <QTemporaryDir>
#endif

#include <iostream>

namespace shardwright::cli {

#ifdef SHARDWRIGHT_WITH_UI

int render(const Common& common, int argc, char** argv) {
    const auto analysed = analysisOptions(common);
    if (!analysed)
        return fail(analysed.error());
    const auto document = openDocument(common, analysed->bindings);
    if (!document)
        return fail(document.error());
    Analyser analyser;
    const auto analysis = analyser.run(*document, *analysed);
    if (!analysis)
        return fail(analysis.error());
    // Drawing needs fonts but no display.
    qputenv("QT_QPA_PLATFORM", "offscreen");
    // Qt looks for a folder of the session, which a server or a container may not have.
    const QTemporaryDir runtime;
    if (qEnvironmentVariableIsEmpty("XDG_RUNTIME_DIR") && runtime.isValid())
        qputenv("XDG_RUNTIME_DIR", runtime.path().toLocal8Bit());
    QGuiApplication application(argc, argv);
    ExportOptions options;
    options.title = QString::fromStdString(common.model);
    QString error;
    if (!exportGraph(*drawModel(document->model, true), *analysis,
                     QString::fromStdString(common.output), options, &error))
        return fail(Error{error.toStdString(), common.output});
    return kOk;
}

#else

int render(const Common&, int, char**) {
    return fail(Error{"this program was built without drawing", "render"});
}

#endif

}  // namespace shardwright::cli
