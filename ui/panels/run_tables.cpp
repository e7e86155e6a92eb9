// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/run_tables.h"

#include "ui/panels/diagnostics_model.h"
#include "ui/panels/name_delegate.h"
#include "ui/window/text.h"

#include <QBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QPushButton>

#include <algorithm>
#include <set>

namespace shardwright {
namespace {

void prepare(QTreeWidget* tree, const QStringList& headers) {
    tree->setHeaderLabels(headers);
    tree->setRootIsDecorated(false);
    tree->setUniformRowHeights(true);
    tree->setAllColumnsShowFocus(true);
}

QString number(double value) {
    return QLocale().toString(value, 'g', 3);
}

RunKindTotal totalOf(const std::map<std::string, RunKindTotal>& totals, const std::string& kind) {
    const auto found = totals.find(kind);
    return found == totals.end() ? RunKindTotal{} : found->second;
}

/// The node that a report names; invalid where the model has none like it.
NodeId nodeAt(const Analysis* analysis, const RunPlace& place) {
    const NodePlace wanted{place.name, place.index, place.scope};
    if (analysis)
        for (const NodeInfo& node : analysis->graph().nodes)
            if (node.index == place.index && analysis->graph().place(node.id) == wanted)
                return node.id;
    return {};
}

}  // namespace

CollectivesTable::CollectivesTable(QWidget* parent) : QTreeWidget(parent) {
    setAccessibleName(tr("Predicted and executed collectives"));
    prepare(this, {tr("Kind"), tr("Predicted"), tr("Executed"), tr("Bytes predicted"),
                   tr("Bytes executed"), QString()});
    showNothing();
}

void CollectivesTable::showNothing() {
    clear();
    auto* item = new QTreeWidgetItem({tr("Run the model to compare what is predicted with what is "
                                         "executed.")});
    item->setForeground(0, palette().color(QPalette::PlaceholderText));
    item->setFlags(Qt::NoItemFlags);
    addTopLevelItem(item);
    item->setFirstColumnSpanned(true);
}

void CollectivesTable::show(const RunReport& report) {
    clear();
    std::set<std::string> kinds;
    for (const auto* totals : {&report.predicted, &report.executed})
        for (const auto& [kind, total] : *totals)
            kinds.insert(kind);
    for (const std::string& kind : kinds) {
        const RunKindTotal predicted = totalOf(report.predicted, kind);
        const RunKindTotal executed = totalOf(report.executed, kind);
        auto* item = new QTreeWidgetItem(
            {toQt(kind), QString::number(predicted.count), QString::number(executed.count),
             byteText(predicted.bytes), byteText(executed.bytes),
             predicted == executed ? tr("✓ as predicted") : tr("✗ differs")});
        item->setToolTip(3, exactByteText(predicted.bytes));
        item->setToolTip(4, exactByteText(executed.bytes));
        if (predicted != executed)
            item->setForeground(5, severityColour(Severity::Error, palette()));
        addTopLevelItem(item);
    }
    if (kinds.empty()) {
        auto* item = new QTreeWidgetItem({tr("Nothing was communicated.")});
        addTopLevelItem(item);
        item->setFirstColumnSpanned(true);
        return;
    }
    for (int column = 0; column < columnCount() - 1; ++column)
        resizeColumnToContents(column);
}

VerificationView::VerificationView(QWidget* parent) : QWidget(parent) {
    m_verdict = new QLabel(this);
    m_verdict->setTextFormat(Qt::PlainText);
    m_verdict->setWordWrap(true);
    m_goTo = new QPushButton(tr("Go to the node"), this);
    connect(m_goTo, &QPushButton::clicked, this, [this] { emit nodeWanted(m_divergent); });
    m_checks = new QTreeWidget(this);
    m_checks->setAccessibleName(tr("Compared tensors"));
    m_checks->setItemDelegateForColumn(0, new NameDelegate(m_checks, Qt::ElideLeft));
    prepare(m_checks,
            {tr("Tensor"), tr("Largest difference"), tr("Relative"), tr("Allowed"), tr("Result")});
    auto* row = new QHBoxLayout;
    row->addWidget(m_verdict, 1);
    row->addWidget(m_goTo);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 6, 0, 0);
    column->addLayout(row);
    column->addWidget(m_checks, 1);
    clear();
}

QString VerificationView::verdict() const {
    return m_verdict->text();
}

void VerificationView::clear() {
    m_checks->clear();
    m_verdict->setText(tr("Not verified yet."));
    m_goTo->hide();
}

void VerificationView::addCheck(const RunTensorCheck& check) {
    const QString note = check.note.empty() ? QString() : u' ' + oneLine(check.note);
    auto* item = new QTreeWidgetItem({oneLine(check.name), number(check.maxAbs),
                                      number(check.maxRel), number(check.tolerance),
                                      (check.agrees ? tr("✓ agrees") : tr("✗ differs")) + note});
    if (!check.agrees)
        item->setForeground(4, severityColour(Severity::Error, palette()));
    m_checks->addTopLevelItem(item);
}

void VerificationView::show(const RunReport& report, const Analysis* analysis) {
    clear();
    if (!report.verified) {
        m_verdict->setText(tr("Not verified."));
        return;
    }
    for (const auto* checks : {&report.outputs, &report.tensors})
        for (const RunTensorCheck& check : *checks)
            addCheck(check);
    for (int column = 0; column + 1 < m_checks->columnCount(); ++column)
        m_checks->resizeColumnToContents(column);
    constexpr int kWidest = 320;
    m_checks->setColumnWidth(0, std::min(m_checks->columnWidth(0), kWidest));
    m_divergent = NodeId();
    if (*report.verified) {
        m_verdict->setText(tr("The sharded run gives the same outputs as one device."));
    } else if (report.firstDivergent) {
        const RunDivergence& first = *report.firstDivergent;
        m_divergent = nodeAt(analysis, first.node);
        m_verdict->setText(tr("The first tensor that differs is %1, of %2 (%3), laid out as %4.")
                               .arg(oneLine(first.check.name), oneLine(first.node.name),
                                    oneLine(first.op), oneLine(first.layout)));
    } else {
        m_verdict->setText(tr("Outputs differ from those of one device."));
    }
    m_goTo->setVisible(static_cast<bool>(m_divergent));
}

}  // namespace shardwright
