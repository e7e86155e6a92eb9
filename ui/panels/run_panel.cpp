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

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>

#include <algorithm>

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
        m_slot = {};
        clearResults();
        setStatus({}, false);
        if (m_client->isRunning())
            m_client->cancel();
    }
    m_run->setEnabled(m_client->isRunning() || m_analysis);
    m_shards->showTensor(m_analysis, m_value, m_slot);
    updateStatus();
    updateShardNote();
}

void RunPanel::selectValue(ValueId value, TensorSlot slot) {
    if (value == m_value && slot == m_slot)
        return;
    m_value = value;
    m_slot = slot;
    m_shards->showTensor(m_analysis, m_value, m_slot);
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
    m_shardNote->setVisible(missing);
    m_runAgain->setVisible(missing);
    if (!missing)
        return;
    const std::string& name = m_analysis->graph().value(m_value).name;
    const bool kept = m_values.contains(name);
    m_runAgain->setVisible(!kept || isStale());
    m_shardNote->setText(
        !kept       ? tr("The last run did not keep the values of %1.").arg(oneLine(name, 60))
        : isStale() ? tr("The last run was of other annotations.")
                    : tr("Values are kept as the producer leaves %1; here it lies otherwise.")
                          .arg(oneLine(name, 60)));
}

void RunPanel::cancel() {
    if (m_client->isRunning())
        m_client->cancel();
}

void RunPanel::clearResults() {
    m_ran.reset();
    m_result.clear();
    m_values.clear();
    m_timings.clear();
    m_chart->setTimings({});
    m_chartHint->show();
    m_collectives->showNothing();
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
    request.rules = m_session->userRules().text;
    request.rulesName = m_session->userRules().name;
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
    m_ran = Ran{m_session->document().annotations, m_session->options(),
                m_analysis->configuration.name};
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
                       // A stage that has not told how far it is looks busy, not stuck.
                       m_progress->setRange(0, progress.share > 0 ? 100 : 0);
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
    m_result = text;
    m_resultIsBad = report.verified == false;
    setStatus(text, m_resultIsBad);
    m_status->setToolTip(toolTipText(toQt(report.kernels)));
    if (report.verified == false)
        m_tabs->setCurrentIndex(2);
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
    updateShardNote();
    emit runningChanged(running);
}

}  // namespace shardwright
