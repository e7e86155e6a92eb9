// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/run_panel.h"

#include "ui/panels/diagnostics_model.h"
#include "ui/panels/run_tables.h"
#include "ui/panels/shard_view.h"
#include "ui/panels/timing_chart.h"
#include "ui/window/editor_session.h"
#include "ui/window/run_client.h"
#include "ui/window/text.h"
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

#include <algorithm>

namespace shardwright {
namespace {

constexpr int kMaxRepeats = 1000;

QScrollArea* scrolled(QWidget* widget) {
    auto* area = new QScrollArea;
    area->setWidgetResizable(true);
    area->setWidget(widget);
    return area;
}

QString stageText(RunStage stage) {
    switch (stage) {
        case RunStage::Load: return RunPanel::tr("Loading");
        case RunStage::Analyse: return RunPanel::tr("Checking");
        case RunStage::Lower: return RunPanel::tr("Splitting the model");
        case RunStage::Inputs: return RunPanel::tr("Making inputs");
        case RunStage::Run: return RunPanel::tr("Running");
        case RunStage::Reference: return RunPanel::tr("Running on one device");
        case RunStage::Verify: return RunPanel::tr("Comparing");
        case RunStage::Save: return RunPanel::tr("Saving");
    }
    return {};
}

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

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
    m_shards = new ShardView;
    m_tabs = new QTabWidget(this);
    m_tabs->setDocumentMode(true);
    m_tabs->addTab(scrolled(timings), tr("Devices"));
    m_tabs->addTab(m_collectives, tr("Collectives"));
    m_tabs->addTab(m_verification, tr("Verification"));
    m_tabs->addTab(scrolled(m_shards), tr("Shards"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 8);
    column->setSpacing(6);
    column->addWidget(buildControls());
    column->addWidget(m_status);
    column->addWidget(m_tabs, 1);
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
    m_verify->setToolTip(tr("Runs the model on one device, too, and compares"));
    m_repeats = new QSpinBox(box);
    m_repeats->setRange(1, kMaxRepeats);
    m_repeats->setPrefix(tr("repeat "));
    m_repeats->setSuffix(QStringLiteral(" ×"));
    m_seed = new QSpinBox(box);
    m_seed->setRange(0, 1 << 30);
    m_seed->setValue(1);
    m_seed->setPrefix(tr("seed "));
    m_seed->setToolTip(tr("Of the random inputs"));
    m_inputs = new QLineEdit(box);
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

void RunPanel::showTab(const QString& name) {
    const QStringList names{QStringLiteral("devices"), QStringLiteral("collectives"),
                            QStringLiteral("verification"), QStringLiteral("shards")};
    if (const auto index = names.indexOf(name); index >= 0)
        m_tabs->setCurrentIndex(static_cast<int>(index));
}

QString RunPanel::statusText() const {
    return m_status->text();
}

bool RunPanel::isRunning() const {
    return m_preparing || m_client->isRunning();
}

void RunPanel::setAnalysis(std::shared_ptr<const Analysis> analysis) {
    const bool other =
        !analysis || (m_analysis && m_analysis->document.model != analysis->document.model);
    m_analysis = std::move(analysis);
    if (other) {
        m_value = ValueId();
        clearResults();
        setStatus({}, false);
        if (m_client->isRunning())
            m_client->cancel();
    }
    m_run->setEnabled(m_client->isRunning() || m_analysis);
    m_shards->showTensor(m_analysis, m_value);
}

void RunPanel::selectValue(ValueId value) {
    if (value == m_value)
        return;
    m_value = value;
    m_shards->showTensor(m_analysis, m_value);
}

void RunPanel::clearResults() {
    m_values.clear();
    m_timings.clear();
    m_chart->setTimings({});
    m_chartHint->show();
    m_collectives->clear();
    m_verification->clear();
    m_shards->setShards({});
}

RunRequest RunPanel::request() const {
    RunRequest request;
    request.modelPath = fromQt(m_session->filePath());
    request.configuration = m_analysis->configuration.name;
    const AnalysisOptions& options = m_session->options();
    request.strictProfile = options.profile == Profile::Strict;
    request.bindings = options.bindings.sizes;
    request.bindingFallback = options.bindings.fallback;
    request.seed = static_cast<std::uint64_t>(m_seed->value());
    request.inputsPath = fromQt(m_inputs->text().trimmed());
    request.verify = static_cast<VerifyMode>(m_verify->currentData().toInt());
    request.repeats = m_repeats->value();
    if (m_value)
        request.observe.push_back(m_analysis->graph().value(m_value).name);
    return request;
}

void RunPanel::start() {
    if (isRunning() || !m_analysis || !m_session->hasDocument())
        return;
    clearResults();
    m_preparing = true;
    setRunning(true);
    setStatus(tr("Preparing"), false);
    // The bytes of a large model take a while.
    m_session->jobs()->start<Result<std::string>>(
        JobTracker::Kind::Run,
        [document = m_session->document(),
         request = request()](const CancelToken&) mutable -> Result<std::string> {
            auto bytes = document.toBytes();
            if (!bytes)
                return bytes.error();
            request.modelBytes = std::move(*bytes);
            return encodeRequest(request);
        },
        [this](Result<std::string> request) {
            m_preparing = false;
            if (request)
                m_client->start(std::move(*request));
            else
                ended(toQt(request.error().text()));
        });
}

void RunPanel::take(const RunEvent& event) {
    std::visit(Overloaded{
                   [this](const RunProgress& progress) {
                       setStatus(stageText(progress.stage), false);
                       m_progress->setRange(0, 100);
                       m_progress->setValue(static_cast<int>(progress.share * 100));
                   },
                   [this](const RunDeviceTiming& timing) {
                       std::erase_if(m_timings, [&](const auto& each) {
                           return each.device == timing.device;
                       });
                       m_timings.push_back(timing);
                       m_chart->setTimings(m_timings);
                       m_chartHint->hide();
                   },
                   [this](const RunShard& shard) { m_values[shard.tensor].push_back(shard); },
                   [this](const RunReport& report) { takeReport(report); },
                   [](const auto&) {},
               },
               event);
}

void RunPanel::takeReport(const RunReport& report) {
    m_timings = report.devices;
    m_chart->setTimings(m_timings);
    m_chartHint->setVisible(m_timings.empty());
    m_shards->setShards(m_values);
    m_collectives->show(report);
    m_verification->show(report, m_analysis.get());
    QString text = tr("Ran in %1").arg(milliseconds(report.wallMs));
    if (report.referenceWallMs > 0)
        text += tr(" (one device: %1)").arg(milliseconds(report.referenceWallMs));
    if (report.verified)
        text += *report.verified ? tr(" · the outputs agree") : tr(" · the outputs DIFFER");
    setStatus(text, report.verified == false);
    m_status->setToolTip(toolTipText(toQt(report.kernels)));
    if (report.verified == false)
        m_tabs->setCurrentIndex(2);
}

void RunPanel::ended(const QString& failure) {
    setRunning(false);
    if (!failure.isEmpty())
        setStatus(failure, true);
    emit finished();
}

void RunPanel::setStatus(const QString& text, bool problem) {
    QPalette colours = palette();
    if (problem)
        colours.setColor(QPalette::WindowText, severityColour(Severity::Error, palette()));
    m_status->setPalette(colours);
    m_status->setText(text.left(600));
    m_status->setVisible(!text.isEmpty());
    m_status->setToolTip(toolTipText(text.left(4000)));
}

void RunPanel::setRunning(bool running) {
    m_run->setText(running ? tr("Cancel") : tr("Run"));
    m_run->setIcon(themedIcon(running ? QStringLiteral("stop") : QStringLiteral("run")));
    m_run->setEnabled(running || m_analysis);
    m_progress->setVisible(running);
    m_progress->setRange(0, 0);
    for (QWidget* widget : {static_cast<QWidget*>(m_verify), static_cast<QWidget*>(m_repeats),
                            static_cast<QWidget*>(m_seed), static_cast<QWidget*>(m_inputs)})
        widget->setEnabled(!running);
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
