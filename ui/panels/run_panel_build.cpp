// SPDX-License-Identifier: Apache-2.0
// The run panel's controls and tabs.
#include "ui/panels/run_panel.h"
#include "ui/panels/run_tables.h"
#include "ui/panels/shard_view.h"
#include "ui/panels/timing_chart.h"
#include "ui/window/run_client.h"
#include "ui/window/theme.h"

#include <QAction>
#include <QBoxLayout>
#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QTabWidget>

namespace shardwright {
namespace {

constexpr int kMaxRepeats = 1000;

QScrollArea* scrolled(QWidget* widget) {
    auto* area = new QScrollArea;
    area->setWidgetResizable(true);
    area->setWidget(widget);
    return area;
}

}  // namespace

RunPanel::RunPanel(EditorSession* session, QWidget* parent) : QWidget(parent), m_session(session) {
    m_client = new RunClient(this);
    connect(m_client, &RunClient::event, this, &RunPanel::take);
    connect(m_client, &RunClient::finished, this, &RunPanel::ended);
    m_chart = new TimingChart;
    m_chartHint = new QLabel(
        tr("Run the model to see how long each device computes, communicates and waits."));
    m_chartHint->setAlignment(Qt::AlignCenter);
    m_chartHint->setProperty("role", "muted");
    auto* timings = new QWidget;
    auto* timingsColumn = new QVBoxLayout(timings);
    timingsColumn->addWidget(m_chart);
    timingsColumn->addWidget(m_chartHint, 1);
    timingsColumn->addStretch(0);
    m_collectives = new CollectivesTable;
    m_verification = new VerificationView;
    connect(m_verification, &VerificationView::nodeWanted, this, &RunPanel::nodeWanted);
    m_tabs = new QTabWidget(this);
    m_tabs->setDocumentMode(true);
    m_tabs->setAccessibleName(tr("Results of the run"));
    m_tabs->addTab(scrolled(timings), tr("Devices"));
    m_tabs->addTab(m_collectives, tr("Collectives"));
    m_tabs->addTab(m_verification, tr("Verification"));
    m_tabs->addTab(buildShards(), tr("Shards"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 8);
    column->setSpacing(6);
    column->addWidget(buildControls());
    column->addWidget(m_status);
    column->addWidget(m_tabs, 1);
    // The tabs were made first.
    setTabOrder(m_inputs, m_tabs);
    setRunning(false);
    setStatus({}, false);
}

QWidget* RunPanel::buildControls() {
    auto* box = new QWidget(this);
    m_run = new QPushButton(box);
    m_run->setObjectName(QStringLiteral("run"));
    connect(m_run, &QPushButton::clicked, this, [this] {
        if (m_client->isRunning())
            m_client->cancel();
        else
            start();
    });
    m_verify = new QComboBox(box);
    m_verify->addItem(tr("Verify outputs"), static_cast<int>(VerifyMode::Outputs));
    m_verify->addItem(tr("Verify all tensors"), static_cast<int>(VerifyMode::All));
    m_verify->addItem(tr("Do not verify"), static_cast<int>(VerifyMode::None));
    m_verify->setAccessibleName(tr("Verification"));
    m_verify->setToolTip(tr("Runs the model on one device, too, and compares"));
    m_repeats = new QSpinBox(box);
    m_repeats->setAccessibleName(tr("How often the model is run"));
    m_repeats->setRange(1, kMaxRepeats);
    m_repeats->setPrefix(tr("repeat "));
    m_repeats->setSuffix(QStringLiteral(" ×"));
    m_seed = new QSpinBox(box);
    m_seed->setAccessibleName(tr("Seed of the random inputs"));
    m_seed->setRange(0, 999999);
    m_seed->setValue(1);
    m_seed->setPrefix(tr("seed "));
    m_seed->setToolTip(tr("Of the random inputs"));
    m_inputs = new QLineEdit(box);
    m_inputs->setAccessibleName(tr("File or folder with inputs"));
    m_inputs->setPlaceholderText(tr("random inputs"));
    m_inputs->setClearButtonEnabled(true);
    m_inputs->setToolTip(
        tr("A .npz file, or a folder with input_0.pb, input_1.pb …; empty: random"));
    m_inputs->setMaximumWidth(220);
    QAction* choose =
        m_inputs->addAction(themedIcon(QStringLiteral("open")), QLineEdit::TrailingPosition);
    choose->setToolTip(tr("Choose a file"));
    connect(choose, &QAction::triggered, this, &RunPanel::chooseInputs);
    m_progress = new QProgressBar(box);
    m_progress->setTextVisible(false);
    m_progress->setFixedSize(110, 8);
    m_status = new QLabel(this);
    m_status->setTextFormat(Qt::PlainText);
    m_status->setWordWrap(true);
    m_status->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(0, 0, 0, 0);
    for (QWidget* widget : {static_cast<QWidget*>(m_run), static_cast<QWidget*>(m_verify),
                            static_cast<QWidget*>(m_repeats), static_cast<QWidget*>(m_seed),
                            static_cast<QWidget*>(m_inputs), static_cast<QWidget*>(m_progress)})
        row->addWidget(widget);
    row->addStretch(1);
    return box;
}

QWidget* RunPanel::buildShards() {
    auto* box = new QWidget;
    m_shards = new ShardView;
    m_shardNote = new QLabel(box);
    m_shardNote->setTextFormat(Qt::PlainText);
    m_shardNote->setWordWrap(true);
    m_shardNote->setProperty("role", "muted");
    m_runAgain = new QPushButton(tr("Run again with it"), box);
    m_runAgain->setObjectName(QStringLiteral("runAgain"));
    connect(m_runAgain, &QPushButton::clicked, this, &RunPanel::start);
    auto* note = new QHBoxLayout;
    note->addWidget(m_shardNote, 1);
    note->addWidget(m_runAgain);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 4, 0, 0);
    column->addLayout(note);
    column->addWidget(scrolled(m_shards), 1);
    return box;
}

void RunPanel::chooseInputs() {
    auto* dialog = new QFileDialog(this, tr("Choose Inputs"), {},
                                   tr("Arrays (*.npz);;Tensors (*.pb);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        // Of a folder with input_0.pb any file may be chosen.
        m_inputs->setText(path.endsWith(QStringLiteral(".pb")) ? QFileInfo(path).absolutePath()
                                                               : path);
    });
    dialog->open();
}

}  // namespace shardwright
