// SPDX-License-Identifier: Apache-2.0
// The run panel's widgets, and its dialogs.
#include "ui/panels/hardware_box.h"
#include "ui/panels/observed_tensors.h"
#include "ui/panels/run_panel.h"
#include "ui/panels/run_results.h"
#include "ui/panels/run_settings.h"
#include "ui/panels/shard_view.h"
#include "ui/window/calibration_client.h"
#include "ui/window/editor_session.h"
#include "ui/window/run_client.h"
#include "ui/window/theme.h"

#include <QBoxLayout>
#include <QFile>
#include <QFileDialog>
#include <QLabel>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QTemporaryDir>
#include <QTimer>
#include <QToolButton>

namespace shardwright {

RunPanel::RunPanel(EditorSession* session, QWidget* parent) : QWidget(parent), m_session(session) {
    m_client = new RunClient(this);
    connect(m_client, &RunClient::event, this, &RunPanel::take);
    connect(m_client, &RunClient::finished, this, &RunPanel::ended);
    m_calibration = new CalibrationClient(this);
    connect(m_calibration, &CalibrationClient::finished, this, &RunPanel::measured);
    m_quiet = new QTimer(this);
    constexpr int kEveryMs = 1000;
    m_quiet->setInterval(kEveryMs);
    connect(m_quiet, &QTimer::timeout, this, &RunPanel::sayQuiet);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 8);
    column->setSpacing(4);
    column->addWidget(buildControls());
    column->addWidget(buildStatus());
    m_results = new RunResults(this);
    connect(m_results, &RunResults::nodeWanted, this, &RunPanel::nodeWanted);
    m_results->addTab(buildShards(), tr("Shards"));
    column->addWidget(m_results, 1);
    setRunning(false);
    setStatus({}, false);
}

RunPanel::~RunPanel() = default;

QWidget* RunPanel::buildControls() {
    m_run = new QPushButton;
    m_run->setObjectName(QStringLiteral("run"));
    connect(m_run, &QPushButton::clicked, this, [this] {
        if (isRunning())
            cancel();
        else
            start();
    });
    m_save = new QToolButton;
    m_save->setText(tr("Save"));
    m_save->setIcon(themedIcon(QStringLiteral("save")));
    m_save->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_save->setPopupMode(QToolButton::InstantPopup);
    m_save->setFocusPolicy(Qt::StrongFocus);
    auto* menu = new QMenu(m_save);
    menu->setToolTipsVisible(true);
    m_saveTrace = menu->addAction(tr("Save Trace…"), this, &RunPanel::askTrace);
    m_saveTrace->setEnabled(false);
    m_saveTrace->setToolTip(tr("Of the last pass, for ui.perfetto.dev"));
    m_saveShards = menu->addAction(tr("Save Shards…"), this, &RunPanel::askShards);
    m_saveShards->setToolTip(tr("Runs again, and writes each device's piece of the outputs and of "
                                "observed tensors as .npy"));
    m_save->setMenu(menu);
    m_settings = new RunSettings(m_run, m_save, this);
    connect(m_settings->hardware(), &HardwareBox::measureWanted, this, &RunPanel::measureMachine);
    return m_settings;
}

QWidget* RunPanel::buildStatus() {
    auto* box = new QWidget(this);
    m_status = new QLabel(box);
    m_status->setTextFormat(Qt::PlainText);
    m_status->setWordWrap(true);
    m_status->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_progress = new QProgressBar(box);
    m_progress->setFixedSize(140, 8);
    m_progress->setTextVisible(false);
    m_runAllTheSame = new QPushButton(tr("Run all the same"), box);
    m_runAllTheSame->setObjectName(QStringLiteral("runAllTheSame"));
    m_runAllTheSame->setToolTip(tr("The machine may become slow, or end the run"));
    connect(m_runAllTheSame, &QPushButton::clicked, this, [this] {
        startWith({m_wish.shardsFolder, true});
    });
    m_runAllTheSame->hide();
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(m_status, 1);
    row->addWidget(m_runAllTheSame);
    row->addWidget(m_progress);
    return box;
}

QWidget* RunPanel::buildShards() {
    auto* box = new QWidget;
    m_shards = new ShardView;
    m_observed = new ObservedTensors(box);
    connect(m_observed, &ObservedTensors::runWanted, this, &RunPanel::start);
    connect(m_observed, &ObservedTensors::tensorWanted, this, &RunPanel::selectValue);
    auto* area = new QScrollArea;
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setWidget(m_shards);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 6, 0, 0);
    column->addWidget(m_observed);
    column->addWidget(area, 1);
    return box;
}

void RunPanel::askTrace() {
    auto* dialog =
        new QFileDialog(this, tr("Save Trace"), {}, tr("Traces (*.json);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("json"));
    dialog->selectFile(QStringLiteral("trace.json"));
    connect(dialog, &QFileDialog::fileSelected, this, &RunPanel::saveTrace);
    dialog->open();
}

bool RunPanel::saveTrace(const QString& path) {
    const QString from = tracePath();
    if (from.isEmpty())
        return false;
    // The dialog has asked about a file that is there.
    QFile::remove(path);
    QFile file(from);
    if (!file.copy(path)) {
        setStatus(tr("%1 could not be written: %2").arg(path, file.errorString()), true);
        return false;
    }
    setStatus(tr("The trace is in %1; open it at ui.perfetto.dev").arg(path), false);
    return true;
}

void RunPanel::askShards() {
    auto* dialog = new QFileDialog(this, tr("Save Shards into a Folder"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    dialog->setOption(QFileDialog::ShowDirsOnly);
    connect(dialog, &QFileDialog::fileSelected, this, &RunPanel::saveShards);
    dialog->open();
}

}  // namespace shardwright
