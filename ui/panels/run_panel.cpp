// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/run_panel.h"

#include "ui/panels/diagnostics_model.h"
#include "ui/panels/hardware_box.h"
#include "ui/panels/observed_tensors.h"
#include "ui/panels/run_results.h"
#include "ui/panels/run_settings.h"
#include "ui/panels/shard_view.h"
#include "ui/window/calibration_client.h"
#include "ui/window/editor_session.h"
#include "ui/window/run_client.h"
#include "ui/window/text.h"
#include "ui/window/theme.h"

#include <QAction>
#include <QEvent>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTimer>
#include <QToolButton>

#include <utility>

namespace shardwright {
namespace {

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

void RunPanel::showTab(const QString& name) {
    if (name == QStringLiteral("shards"))
        m_results->setCurrentIndex(m_results->count() - 1);
    else
        m_results->showTab(name);
}

QString RunPanel::statusText() const {
    return m_status->text();
}

bool RunPanel::isRunning() const {
    return m_preparing || m_client->isRunning() || m_calibration->isRunning();
}

void RunPanel::setAnalysis(std::shared_ptr<const Analysis> analysis) {
    const bool other =
        !analysis || (m_analysis && m_analysis->document.model != analysis->document.model);
    m_analysis = std::move(analysis);
    if (other) {
        m_value = ValueId();
        m_slot = {};
        clearResults();
        setStatus({}, false);
        m_observed->clear();
        cancelRun();
    }
    m_run->setEnabled(isRunning() || m_analysis);
    m_saveShards->setEnabled(m_analysis && !isRunning());
    m_shards->showTensor(m_analysis, m_value, m_slot);
    m_observed->showTensor(m_analysis, m_value, m_slot);
    updateStatus();
    updateShardNote();
}

void RunPanel::selectValue(ValueId value, TensorSlot slot) {
    if (value == m_value && slot == m_slot)
        return;
    m_value = value;
    m_slot = slot;
    m_shards->showTensor(m_analysis, m_value, m_slot);
    m_observed->showTensor(m_analysis, m_value, m_slot);
    updateShardNote();
}

bool RunPanel::isStale() const {
    if (!m_ran || !m_analysis)
        return false;
    const AnalysisOptions& now = m_analysis->options;
    return m_ran->configuration != m_analysis->configuration.name ||
           m_ran->options.profile != now.profile || m_ran->options.bindings != now.bindings ||
           m_ran->options.registry != now.registry ||
           !m_ran->annotations.sameAs(m_analysis->document.annotations);
}

/// A result stays readable after an edit, but says that it is not of the model as it is now.
void RunPanel::updateStatus() {
    if (!m_result.isEmpty() && !isRunning())
        setStatus(isStale() ? m_result + tr(" · the annotations have changed since") : m_result,
                  m_resultIsBad);
}

/// Says why no values of the selected tensor are shown, and offers to get them.
void RunPanel::updateShardNote() {
    const bool missing = m_analysis && m_value && m_analysis->hasConfiguration &&
                         !m_result.isEmpty() && !isRunning() && !m_shards->hasValues();
    if (!missing) {
        m_observed->setNote({}, false);
        return;
    }
    const std::string wanted = observedName(*m_analysis, m_value, m_slot);
    const bool kept = m_values.contains(wanted);
    m_observed->setNote(wanted.empty() ? tr("It is inside of a body: a run cannot observe it.")
                        : !kept        ? tr("The last run did not observe it here.")
                        : isStale()    ? tr("The last run was of other annotations.")
                                       : tr("The last run has no values of it."),
                        !wanted.empty() && (!kept || isStale()));
}

void RunPanel::cancelRun() {
    if (std::exchange(m_preparing, false)) {
        m_session->jobs()->cancel(JobTracker::Kind::Run);
        ended(RunClient::cancelledText());
    }
    m_client->cancel();
}

void RunPanel::cancel() {
    cancelRun();
    m_calibration->cancel();
}

void RunPanel::clearResults() {
    m_ran.reset();
    m_result.clear();
    m_values.clear();
    m_traces.reset();
    m_saveTrace->setEnabled(false);
    m_runAllTheSame->hide();
    m_results->clear();
    m_shards->setShards({});
}

QString RunPanel::tracePath() const {
    return m_traces && m_traces->isValid() ? m_traces->filePath(QStringLiteral("trace.json"))
                                           : QString();
}

Result<RunRequest> RunPanel::request(const Wish& wish) const {
    RunRequest request;
    request.modelPath = fromQt(m_session->filePath());
    request.configuration = m_analysis->configuration.name;
    const AnalysisOptions& options = m_session->options();
    request.strictProfile = options.profile == Profile::Strict;
    request.bindings = options.bindings.sizes;
    request.bindingFallback = options.bindings.fallback;
    request.rules = m_session->userRules().text;
    request.rulesName = m_session->userRules().name;
    request.observe = m_observed->names();
    request.tracePath = fromQt(tracePath());
    request.saveShardsFolder = fromQt(wish.shardsFolder);
    request.ignoreMemory = wish.ignoreMemory;
    if (auto filled = m_settings->fill(request); !filled)
        return filled.error();
    return request;
}

void RunPanel::start() {
    startWith({});
}

void RunPanel::saveShards(const QString& folder) {
    startWith({folder, false});
}

void RunPanel::startWith(const Wish& wish) {
    if (isRunning() || !m_analysis || !m_session->hasDocument())
        return;
    clearResults();
    m_traces = std::make_unique<QTemporaryDir>();
    auto wanted = request(wish);
    if (!wanted) {
        setStatus(toQt(wanted.error().text()), true);
        return;
    }
    m_wish = wish;
    m_ran = Ran{m_session->document().annotations, m_session->options(),
                m_analysis->configuration.name};
    m_preparing = true;
    setRunning(true);
    m_stage = tr("Preparing");
    setStatus(m_stage, false);
    RunClient::Limits limits;
    limits.silenceSeconds = wanted->silenceLimitSeconds;
    limits.timeSeconds = wanted->timeLimitSeconds;
    // The bytes of a large model take a while.
    m_session->jobs()->start<Result<std::string>>(
        JobTracker::Kind::Run,
        [document = m_session->document(),
         request = std::move(*wanted)](const CancelToken&) mutable -> Result<std::string> {
            auto bytes = document.toBytes();
            if (!bytes)
                return bytes.error();
            request.modelBytes = std::move(*bytes);
            return encodeRequest(request);
        },
        [this, limits](Result<std::string> request) {
            m_preparing = false;
            if (request)
                m_client->start(std::move(*request), limits);
            else
                ended(toQt(request.error().text()));
        });
}

void RunPanel::take(const RunEvent& event) {
    std::visit(Overloaded{
                   [this](const RunProgress& progress) {
                       m_stage = stageText(progress.stage);
                       setStatus(m_stage, false);
                       // A stage that has not told how far it is looks busy, not stuck.
                       m_progress->setRange(0, progress.share > 0 ? 100 : 0);
                       m_progress->setValue(static_cast<int>(progress.share * 100));
                   },
                   [this](const RunShard& shard) { m_values[shard.tensor].push_back(shard); },
                   [this](const RunReport& report) { takeReport(report); },
                   [this](const RunFailure& failure) {
                       m_runAllTheSame->setVisible(failure.kind == RunFailure::Kind::Memory);
                   },
                   [this](const RunMemory& memory) { m_results->take(memory); },
                   [this](const RunDeviceTiming& timing) { m_results->take(timing); },
                   [this](const RunSegmentTiming& segment) { m_results->take(segment); },
                   [this](const RunExchangeTiming& exchange) { m_results->take(exchange); },
                   [](const auto&) {},
               },
               event);
}

void RunPanel::takeReport(const RunReport& report) {
    m_shards->setShards(m_values);
    m_results->show(report, m_analysis.get());
    QString text = tr("Ran in %1").arg(milliseconds(report.wallMs));
    if (report.referenceWallMs > 0)
        text += tr(" (one device: %1)").arg(milliseconds(report.referenceWallMs));
    if (report.verified)
        text += *report.verified ? tr(" · the outputs agree") : tr(" · the outputs DIFFER");
    if (report.predicted != report.executed)
        text += tr(" · collectives differ from the prediction");
    if (!m_wish.shardsFolder.isEmpty())
        text += tr(" · shards saved in %1").arg(m_wish.shardsFolder);
    m_result = text;
    m_resultIsBad = report.verified == false || report.predicted != report.executed;
    setStatus(text, m_resultIsBad);
    m_saveTrace->setEnabled(!tracePath().isEmpty());
    if (report.verified == false)
        m_results->showTab(QStringLiteral("verification"));
}

void RunPanel::ended(const QString& failure) {
    setRunning(false);
    if (!failure.isEmpty()) {
        m_result.clear();
        setStatus(failure, failure != RunClient::cancelledText());
    }
    updateStatus();
    updateShardNote();
    emit finished();
}

void RunPanel::setStatus(const QString& text, bool problem) {
    QPalette colours = palette();
    if (problem)
        colours.setColor(QPalette::WindowText, severityColour(Severity::Error, palette()));
    m_statusIsBad = problem;
    m_status->setPalette(colours);
    m_status->setText(text.left(600));
    m_status->parentWidget()->setVisible(!text.isEmpty());
    m_status->setToolTip(toolTipText(text.left(4000)));
}

/// A worker that tells nothing may be busy with one large kernel, or hang: who waits can decide.
void RunPanel::sayQuiet() {
    const int seconds = m_client->quietSeconds();
    if (seconds >= m_quietLimit)
        setStatus(
            tr("%1 · no news from the worker for %2 s, Cancel ends it").arg(m_stage).arg(seconds),
            false);
}

void RunPanel::measureMachine() {
    if (isRunning())
        return;
    setRunning(true);
    setStatus(tr("Measuring collectives and kernels of this machine"), false);
    m_calibration->start();
}

void RunPanel::measured(const QString& failure) {
    setRunning(false);
    if (failure.isEmpty())
        m_settings->hardware()->chooseMeasured();
    setStatus(failure.isEmpty() ? tr("This machine was measured; the next run is predicted with it")
                                : failure,
              !failure.isEmpty() && failure != RunClient::cancelledText());
    updateShardNote();
}

void RunPanel::setRunning(bool running) {
    m_run->setText(running ? tr("Cancel") : tr("Run"));
    m_run->setIcon(themedIcon(running ? QStringLiteral("stop") : QStringLiteral("run")));
    m_run->setEnabled(running || m_analysis);
    m_progress->setVisible(running);
    m_progress->setRange(0, 0);
    m_settings->setEditable(!running);
    m_save->setEnabled(!running);
    m_saveShards->setEnabled(!running && m_analysis);
    m_results->setRunning(running);
    if (running)
        m_quiet->start();
    else
        m_quiet->stop();
    updateShardNote();
    emit runningChanged(running);
}

void RunPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    // Colours that were taken from the palette are taken again.
    if (event->type() == QEvent::PaletteChange && m_status)
        setStatus(m_status->text(), m_statusIsBad);
}

}  // namespace shardwright
