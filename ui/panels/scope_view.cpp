// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/scope_view.h"

#include "check/assign.h"
#include "ui/panels/elided_label.h"
#include "ui/panels/stage_box.h"
#include "ui/window/editor_session.h"
#include "ui/window/text.h"

#include <QBoxLayout>
#include <QFormLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QTreeWidget>

namespace shardwright {

ScopeView::ScopeView(EditorSession* session, QWidget* parent)
    : QWidget(parent), m_session(session) {
    m_title = new ElidedLabel(this);
    m_title->setProperty("role", "title");
    m_path = new ElidedLabel(this);
    m_path->setProperty("role", "muted");
    m_stageRow = new QWidget(this);
    m_stage = new StageBox(m_stageRow);
    m_stage->setObjectName(QStringLiteral("scopeStage"));
    connect(m_stage, &StageBox::stageChosen, this, &ScopeView::stageChosen);
    m_clear = new QPushButton(tr("Remove annotations"), m_stageRow);
    m_clear->setObjectName(QStringLiteral("clearScope"));
    m_clear->setToolTip(tr("Remove layouts and stage of all nodes in the scope"));
    connect(m_clear, &QPushButton::clicked, this, &ScopeView::clearAnnotations);
    auto* stageLabel = new QLabel(tr("S&tage of all"), m_stageRow);
    stageLabel->setBuddy(m_stage);
    auto* stageRow = new QHBoxLayout(m_stageRow);
    stageRow->setContentsMargins(0, 0, 0, 0);
    stageRow->addWidget(stageLabel);
    stageRow->addWidget(m_stage);
    stageRow->addStretch(1);
    stageRow->addWidget(m_clear);

    auto* form = new QFormLayout;
    form->setHorizontalSpacing(12);
    form->setVerticalSpacing(4);
    m_nodes = addFact(form, tr("Nodes"));
    m_parameters = addFact(form, tr("Weights"));
    m_annotated = addFact(form, tr("Annotated"));
    m_communication = addFact(form, tr("Communication"));
    m_problems = addFact(form, tr("Problems"));

    m_select = new QPushButton(tr("Select all its nodes"), this);
    m_select->setObjectName(QStringLiteral("selectScopeNodes"));
    m_select->setToolTip(tr("To change the tensors of all nodes of a kind at once"));
    connect(m_select, &QPushButton::clicked, this, [this] {
        emit nodesWanted({m_facts.nodes.begin(), m_facts.nodes.end()});
    });
    auto* heading = new QLabel(tr("Operators"), this);
    heading->setProperty("role", "heading");
    heading->setIndent(0);
    m_operators = new QTreeWidget(this);
    m_operators->setObjectName(QStringLiteral("operators"));
    m_operators->setAccessibleName(tr("Operators in the scope"));
    m_operators->setHeaderLabels({tr("Operator"), tr("Nodes")});
    m_operators->setRootIsDecorated(false);
    m_operators->setUniformRowHeights(true);
    m_operators->setAllColumnsShowFocus(true);
    m_operators->header()->setStretchLastSection(false);
    m_operators->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_operators->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    m_operators->setToolTip(tr("Double-click or Enter selects all of them in the scope"));
    connect(m_operators, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) {
        selectOperator(m_operators->indexOfTopLevelItem(item));
    });

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 8, 12, 12);
    column->setSpacing(6);
    column->addWidget(m_title);
    column->addWidget(m_path);
    column->addWidget(m_stageRow);
    column->addLayout(form);
    column->addWidget(m_select, 0, Qt::AlignLeft);
    column->addWidget(heading);
    column->addWidget(m_operators, 1);
}

QLabel* ScopeView::addFact(QFormLayout* form, const QString& name) {
    auto* title = new QLabel(name, this);
    title->setProperty("role", "muted");
    auto* text = new QLabel(this);
    text->setTextFormat(Qt::PlainText);
    text->setWordWrap(true);
    text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    form->addRow(title, text);
    return text;
}

void ScopeView::show(std::shared_ptr<const Analysis> analysis, ScopeId scope) {
    m_analysis = std::move(analysis);
    m_scope = scope;
    m_facts = m_analysis && scope ? scopeFacts(*m_analysis, scope) : ScopeFacts();
    if (m_analysis && scope)
        refresh();
}

void ScopeView::refresh() {
    const ScopeInfo& scope = m_analysis->graph().scope(m_scope);
    m_title->setText(oneLine(scope.name, 300));
    m_path->setText(oneLine(scope.path, 500));
    m_stageRow->setVisible(m_analysis->hasConfiguration);
    m_stage->setStage(m_facts.oneStage() ? std::optional(m_facts.firstStage) : std::nullopt);
    m_clear->setEnabled(m_facts.explicitNodes > 0);
    refreshFacts();
    refreshOperators();
}

void ScopeView::refreshFacts() {
    const QLocale locale;
    const auto count = [&](std::int64_t n) { return locale.toString(static_cast<qlonglong>(n)); };
    const int inner = static_cast<int>(m_analysis->graph().scope(m_scope).children.size());
    m_nodes->setText(inner == 0 ? count(std::ssize(m_facts.nodes))
                                : tr("%1, with those of %2 inner scopes")
                                      .arg(count(std::ssize(m_facts.nodes)), count(inner)));
    m_parameters->setText(m_facts.weights == 0
                              ? tr("none")
                              : tr("%1 with %2 elements, %3")
                                    .arg(count(m_facts.weights), count(m_facts.parameters),
                                         byteText(m_facts.parameterBytes)));
    m_parameters->setToolTip(exactByteText(m_facts.parameterBytes));
    QString annotated = m_facts.explicitNodes == 0
                            ? tr("no node")
                            : tr("%1 nodes").arg(count(m_facts.explicitNodes));
    if (m_facts.firstStage >= 0)
        annotated += m_facts.firstStage == m_facts.lastStage
                         ? tr(", stage %1").arg(m_facts.firstStage)
                         : tr(", stages %1 to %2").arg(m_facts.firstStage).arg(m_facts.lastStage);
    m_annotated->setText(annotated);
    QStringList kinds;
    for (const auto& [kind, total] : m_facts.communication)
        kinds << QStringLiteral("%1 × %2").arg(count(total.count), toQt(collectiveName(kind)));
    m_communication->setText(kinds.isEmpty()
                                 ? tr("none")
                                 : tr("%1, %2").arg(kinds.join(QStringLiteral(", ")),
                                                    byteText(m_facts.communicationBytes)));
    m_communication->setToolTip(exactByteText(m_facts.communicationBytes));
    QStringList problems;
    if (m_facts.errors > 0)
        problems << QStringLiteral("%1 %2")
                        .arg(m_facts.errors)
                        .arg(severityText(Severity::Error, m_facts.errors));
    if (m_facts.warnings > 0)
        problems << QStringLiteral("%1 %2")
                        .arg(m_facts.warnings)
                        .arg(severityText(Severity::Warning, m_facts.warnings));
    m_problems->setText(problems.isEmpty() ? tr("none") : problems.join(QStringLiteral(", ")));
}

void ScopeView::refreshOperators() {
    m_operators->clear();
    QList<QTreeWidgetItem*> items;
    for (const ScopeFacts::Operator& each : m_facts.operators) {
        const QString name = oneLine(each.name, 100);
        auto* item = new QTreeWidgetItem(
            {each.domain.empty() ? name : oneLine(each.domain, 100) + QStringLiteral("::") + name,
             QLocale().toString(each.count)});
        item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
        items << item;
    }
    m_operators->addTopLevelItems(items);
}

void ScopeView::selectOperator(int row) {
    if (!m_analysis || row < 0 || row >= std::ssize(m_facts.operators))
        return;
    const ScopeFacts::Operator& wanted = m_facts.operators[static_cast<std::size_t>(row)];
    const GraphIndex& graph = m_analysis->graph();
    QList<NodeId> nodes;
    for (const NodeId node : m_facts.nodes)
        if (graph.opType(node) == wanted.name && graph.domain(node) == wanted.domain)
            nodes << node;
    emit nodesWanted(nodes);
}

void ScopeView::stageChosen(int stage) {
    const QString where = oneLine(m_analysis->graph().scope(m_scope).name, 40);
    m_session->push(assignStage(m_session->document(), *m_analysis, m_facts.nodes, stage),
                    stage < 0 ? tr("Remove stage of %1").arg(where)
                              : tr("Assign stage %1 to %2").arg(stage).arg(where));
}

void ScopeView::clearAnnotations() {
    m_session->push(
        clearNodes(m_session->document(), *m_analysis, m_facts.nodes),
        tr("Remove annotations in %1").arg(oneLine(m_analysis->graph().scope(m_scope).name, 40)));
}

}  // namespace shardwright
