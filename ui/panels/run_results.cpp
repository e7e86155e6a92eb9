// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/run_results.h"

#include "ui/panels/diagnostics_model.h"
#include "ui/panels/rows_view.h"
#include "ui/panels/run_timeline.h"
#include "ui/panels/timing_bar.h"
#include "ui/panels/verification_view.h"

#include <QBoxLayout>
#include <QComboBox>
#include <QEvent>
#include <QLabel>
#include <QLineEdit>

namespace shardwright {
namespace {

constexpr int kBarWidth = 170;

QVBoxLayout* columnOf(QWidget* widget) {
    auto* column = new QVBoxLayout(widget);
    column->setContentsMargins(0, 6, 0, 0);
    column->setSpacing(4);
    return column;
}

}  // namespace

RunResults::RunResults(QWidget* parent) : QTabWidget(parent) {
    setDocumentMode(true);
    setAccessibleName(tr("Results of the run"));
    m_timeline = new RunTimeline;
    connect(m_timeline, &RunTimeline::nodeWanted, this, [this](const RunPlace& place) {
        if (const NodeId node = m_nodes.find(place))
            emit nodeWanted(node);
    });
    m_verification = new VerificationView;
    connect(m_verification, &VerificationView::nodeWanted, this, &RunResults::nodeWanted);
    addTab(buildDevices(), tr("Devices"));
    addTab(buildOperators(), tr("Operators"));
    addTab(buildCollectives(), tr("Collectives"));
    addTab(m_timeline, tr("Timeline"));
    addTab(m_verification, tr("Verification"));
    clear();
}

QWidget* RunResults::buildDevices() {
    auto* box = new QWidget;
    m_devices = new RowsView(tr("Devices"), deviceColumns(), box);
    m_devices->setDelegate(DeviceBar, new TimingBarDelegate(m_devices), kBarWidth);
    auto* column = columnOf(box);
    column->addWidget(new TimingLegend(box));
    column->addWidget(m_devices, 1);
    return box;
}

QWidget* RunResults::buildOperators() {
    auto* box = new QWidget;
    m_operatorTools = new QWidget(box);
    m_grouping = new QComboBox(m_operatorTools);
    m_grouping->addItems({tr("Each node"), tr("Sum of each operator")});
    m_grouping->setAccessibleName(tr("Rows"));
    m_filter = new QLineEdit(m_operatorTools);
    m_filter->setAccessibleName(tr("Filter"));
    m_filter->setPlaceholderText(tr("filter"));
    m_filter->setClearButtonEnabled(true);
    auto* tools = new QHBoxLayout(m_operatorTools);
    tools->setContentsMargins(0, 0, 0, 0);
    tools->addWidget(m_grouping);
    tools->addWidget(m_filter, 1);
    m_operators = new RowsView(tr("Operator times"), operatorColumns(), box);
    m_operators->sortBy(OperatorTotal, Qt::DescendingOrder);
    connect(m_operators, &RowsView::nodeWanted, this, &RunResults::nodeWanted);
    connect(m_filter, &QLineEdit::textChanged, m_operators, &RowsView::setFilter);
    connect(m_grouping, &QComboBox::activated, this, &RunResults::showOperators);
    auto* column = columnOf(box);
    column->addWidget(m_operatorTools);
    column->addWidget(m_operators, 1);
    return box;
}

QWidget* RunResults::buildCollectives() {
    auto* box = new QWidget;
    m_summary = new QLabel(box);
    m_summary->setTextFormat(Qt::PlainText);
    m_summary->setWordWrap(true);
    m_summary->setIndent(4);
    m_summary->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_summary->setObjectName(QStringLiteral("collectivesSummary"));
    m_collectives = new RowsView(tr("Collectives of the last pass"), collectiveColumns(), box);
    connect(m_collectives, &RowsView::nodeWanted, this, &RunResults::nodeWanted);
    auto* column = columnOf(box);
    column->addWidget(m_summary);
    column->addWidget(m_collectives, 1);
    return box;
}

void RunResults::showTab(const QString& name) {
    const QStringList names{QStringLiteral("devices"), QStringLiteral("operators"),
                            QStringLiteral("collectives"), QStringLiteral("timeline"),
                            QStringLiteral("verification")};
    if (const auto index = names.indexOf(name); index >= 0)
        setCurrentIndex(static_cast<int>(index));
}

void RunResults::clear() {
    m_facts.clear();
    m_report = {};
    m_nodes = NodesByPlace(nullptr);
    m_devices->setRows({});
    m_devices->setHint(
        tr("Run the model to see how long each device computes, communicates and waits."));
    m_operators->setRows({});
    m_operators->setHint(tr("Run the model with operator times to see what each operator takes."));
    m_collectives->setRows({});
    m_collectives->setHint(tr("Run the model to see what each collective takes."));
    m_timeline->clear();
    m_verification->clear();
    m_operatorTools->hide();
    showSummary();
    setRunning(false);
}

void RunResults::setRunning(bool running) {
    m_devices->setColumnShown(DeviceMemory, running);
}

void RunResults::take(const RunMemory& memory) {
    m_facts[memory.device].memory = memory;
    showDevices();
}

void RunResults::take(const RunDeviceTiming& timing) {
    DeviceFacts& facts = m_facts[timing.device];
    facts.timing = timing;
    facts.timed = true;
    showDevices();
}

void RunResults::take(const RunSegmentTiming& segment) {
    ++m_facts[segment.device].segments;
    m_timeline->add(segment);
}

void RunResults::take(const RunExchangeTiming& exchange) {
    m_timeline->add(exchange);
}

void RunResults::show(const RunReport& report, const Analysis* analysis) {
    m_report = report;
    m_nodes = NodesByPlace(analysis);
    for (const RunDeviceTiming& timing : report.devices) {
        m_facts[timing.device].timing = timing;
        m_facts[timing.device].timed = true;
    }
    showDevices();
    m_operators->setHint(tr("The last run was without operator times: tick it above and run "
                            "again."));
    m_operatorTools->setVisible(!report.operators.empty());
    showOperators();
    m_collectives->setHint(tr("Nothing was communicated."));
    m_collectives->setColumnShown(CollectivePredicted, !report.hardware.empty());
    m_collectives->setRows(collectiveRows(report.collectives, m_nodes));
    showSummary();
    m_verification->show(report, m_nodes);
}

void RunResults::showDevices() {
    m_devices->setRows(deviceRows(m_facts));
}

void RunResults::showOperators() {
    const bool summed = m_grouping->currentIndex() == 1;
    m_operators->setColumnShown(OperatorMedian, !summed);
    m_operators->setRows({});
    m_operators->setRows(operatorRows(m_report.operators, m_nodes, summed));
}

void RunResults::showSummary() {
    const QString text = collectivesSummary(m_report);
    QPalette colours = palette();
    if (m_report.predicted != m_report.executed)
        colours.setColor(QPalette::WindowText, severityColour(Severity::Error, palette()));
    m_summary->setPalette(colours);
    m_summary->setText(text);
    m_summary->setVisible(!text.isEmpty());
}

void RunResults::changeEvent(QEvent* event) {
    QTabWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_summary)
        showSummary();
}

}  // namespace shardwright
