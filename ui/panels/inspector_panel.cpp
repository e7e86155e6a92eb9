// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/inspector_panel.h"

#include "model/attributes.h"
#include "ui/panels/chips.h"
#include "ui/panels/elided_label.h"
#include "ui/panels/link_label.h"
#include "ui/panels/node_problems.h"
#include "ui/panels/scope_facts.h"
#include "ui/panels/scope_view.h"
#include "ui/panels/stage_box.h"
#include "ui/panels/tensor_editor.h"
#include "ui/panels/tensor_model.h"
#include "ui/window/editor_session.h"
#include "ui/window/text.h"

#include <QBoxLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QTreeView>
#include <QTreeWidget>

#include <algorithm>
#include <functional>
#include <map>

namespace shardwright {
namespace {

constexpr int kMaxTableRows = 9;
constexpr std::size_t kMaxOperators = 12;  // of a selection, the most frequent
constexpr int kMinimumCharacters = 48;     // narrower, and controls would be cut

QLabel* heading(const QString& text, QWidget* parent) {
    auto* label = new QLabel(text, parent);
    label->setProperty("role", "heading");
    label->setIndent(0);
    return label;
}

}  // namespace

InspectorPanel::InspectorPanel(EditorSession* session, QWidget* parent)
    : QWidget(parent), m_session(session) {
    m_model = new TensorModel(this);
    m_empty = new QLabel(tr("Select a node to see and change how its tensors are split."), this);
    m_empty->setWordWrap(true);
    m_empty->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_empty->setProperty("role", "muted");
    m_empty->setMargin(12);

    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(12, 8, 12, 12);
    column->setSpacing(6);
    column->addWidget(buildHeader());
    m_problems = new NodeProblems(session, content);
    column->addWidget(m_problems);
    column->addWidget(buildTensors());
    m_editor = new TensorEditor(session, content);
    connect(m_editor, &TensorEditor::nodeWanted, this, &InspectorPanel::nodeWanted);
    connect(m_editor, &TensorEditor::refused, this, &InspectorPanel::refused);
    column->addWidget(m_editor);
    column->addWidget(buildAttributes());
    column->addStretch(1);

    m_scroll = new QScrollArea(this);
    m_scroll->setWidgetResizable(true);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->setFocusPolicy(Qt::NoFocus);
    m_scroll->setWidget(content);
    setMinimumWidth(fontMetrics().averageCharWidth() * kMinimumCharacters);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(m_empty, 1);
    outer->addWidget(m_scroll, 1);
    m_scopeView = new ScopeView(session, this);
    connect(m_scopeView, &ScopeView::nodesWanted, this, &InspectorPanel::nodesWanted);
    outer->addWidget(m_scopeView, 1);
    refresh();
}

QWidget* InspectorPanel::buildHeader() {
    auto* header = new QWidget;
    m_operator = new ElidedLabel(header);
    m_operator->setProperty("role", "title");
    m_name = new ElidedLabel(header);
    m_operators = new LinkLabel(header);
    m_operators->setObjectName(QStringLiteral("operatorLinks"));
    m_operators->setToolTip(tr("Select only the nodes of this operator"));
    connect(m_operators, &QLabel::linkActivated, this,
            [this](const QString& link) { selectOperator(link.toInt()); });
    m_scope = new ElidedLabel(header);
    m_scope->setProperty("role", "muted");
    m_stage = new StageBox(header);
    m_stage->setObjectName(QStringLiteral("stage"));
    connect(m_stage, &StageBox::stageChosen, this, &InspectorPanel::stageChosen);
    m_stageDevices = new ElidedLabel(header);
    m_stageDevices->setProperty("role", "muted");
    m_clear = new QPushButton(tr("Remove annotations"), header);
    m_clear->setToolTip(tr("Remove layouts and stage of the selected nodes"));
    connect(m_clear, &QPushButton::clicked, this, &InspectorPanel::clearAnnotations);
    m_addMesh = new QPushButton(tr("Add a device mesh…"), header);
    m_addMesh->setToolTip(tr("Layouts need a device configuration; this model has none"));
    connect(m_addMesh, &QPushButton::clicked, this, &InspectorPanel::meshWanted);

    m_stageRow = new QWidget(header);
    auto* row = new QHBoxLayout(m_stageRow);
    row->setContentsMargins(0, 0, 0, 0);
    auto* label = new QLabel(tr("&Stage"), m_stageRow);
    label->setBuddy(m_stage);
    row->addWidget(label);
    row->addWidget(m_stage);
    row->addWidget(m_stageDevices, 1);
    row->addWidget(m_clear);
    auto* column = new QVBoxLayout(header);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(3);
    column->addWidget(m_operator);
    column->addWidget(m_name);
    column->addWidget(m_operators);
    column->addWidget(m_scope);
    column->addSpacing(4);
    column->addWidget(m_stageRow);
    column->addWidget(m_addMesh, 0, Qt::AlignLeft);
    return header;
}

QWidget* InspectorPanel::buildTensors() {
    auto* box = new QWidget;
    m_tensorsTitle = heading(tr("Inputs and outputs"), box);
    m_table = new QTreeView(box);
    m_table->setObjectName(QStringLiteral("tensors"));
    m_table->setAccessibleName(tr("Inputs and outputs"));
    m_table->setModel(m_model);
    m_table->setRootIsDecorated(false);
    m_table->setUniformRowHeights(true);
    m_table->setAllColumnsShowFocus(true);
    m_table->setTextElideMode(Qt::ElideMiddle);
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->setItemDelegateForColumn(TensorModel::Layout, new ChipDelegate(m_table));
    m_table->header()->setStretchLastSection(false);
    m_table->header()->setSectionResizeMode(TensorModel::Tensor, QHeaderView::Stretch);
    m_table->header()->setSectionResizeMode(TensorModel::Shape, QHeaderView::ResizeToContents);
    m_table->header()->setSectionResizeMode(TensorModel::Layout, QHeaderView::ResizeToContents);
    m_table->setToolTip(tr("Double-click or Enter goes to the tensor's producer or consumer"));
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            &InspectorPanel::currentTensorChanged);
    connect(m_table, &QTreeView::activated, this, [this](const QModelIndex& index) {
        const TensorSlot slot = m_model->slot(index.row());
        const ValueInfo& value = m_analysis->graph().value(m_model->value(index.row()));
        if (!slot.output && value.producer)
            emit nodeWanted(value.producer);
        else if (slot.output && !value.uses.empty())
            emit nodeWanted(value.uses.front().node);
        else
            emit valueWanted(value.id);
    });
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(m_tensorsTitle);
    column->addWidget(m_table);
    return box;
}

QWidget* InspectorPanel::buildAttributes() {
    auto* box = new QWidget;
    m_attributesTitle = heading(tr("Attributes"), box);
    m_attributes = new QTreeWidget(box);
    m_attributes->setObjectName(QStringLiteral("attributes"));
    m_attributes->setAccessibleName(tr("Attributes"));
    m_attributes->setColumnCount(2);
    m_attributes->setHeaderLabels({tr("Name"), tr("Value")});
    m_attributes->setRootIsDecorated(false);
    m_attributes->setUniformRowHeights(true);
    m_attributes->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(m_attributesTitle);
    column->addWidget(m_attributes);
    return box;
}

void InspectorPanel::showNodes(const QList<NodeId>& nodes) {
    if (nodes == m_nodes)
        return;
    m_nodes = nodes;
    refresh();
}

void InspectorPanel::showScope(ScopeId scope) {
    if (scope == m_shownScope)
        return;
    m_shownScope = scope;
    refresh();
}

void InspectorPanel::showValue(ValueId value) {
    if (!m_analysis || !value)
        return;
    const ValueInfo& info = m_analysis->graph().value(value);
    if (info.producer)
        selectSlot({info.producer, true, info.producerSlot});
    else if (!info.uses.empty())
        selectSlot({info.uses.front().node, false, info.uses.front().slot});
}

void InspectorPanel::selectSlot(TensorSlot slot) {
    showNodes({slot.node});
    const int row = m_model->rowOf(slot);
    if (row >= 0)
        m_table->setCurrentIndex(m_model->index(row, 0));
}

void InspectorPanel::setAnalysis(std::shared_ptr<const Analysis> analysis) {
    // Ids of another model mean nothing here.
    if (!analysis || (m_analysis && m_analysis->document.model != analysis->document.model)) {
        m_nodes.clear();
        m_shownScope = ScopeId();
    }
    m_whole = m_analysis = std::move(analysis);
    m_piece.reset();
    refresh();
}

void InspectorPanel::setPiece(std::shared_ptr<const Analysis> piece) {
    m_piece = std::move(piece);
    if (isInPiece())
        refresh();
}

bool InspectorPanel::isInPiece() const {
    if (!m_piece || !m_whole || m_piece->document.model != m_whole->document.model)
        return false;
    const auto covered = [this](NodeId node) { return m_piece->covers(node); };
    if (m_nodes.isEmpty() && m_shownScope)
        return std::ranges::all_of(nodesIn(m_piece->graph(), m_shownScope), covered);
    return std::ranges::all_of(m_nodes, covered);
}

void InspectorPanel::refresh() {
    m_analysis = isInPiece() ? m_piece : m_whole;
    const bool some = m_analysis && !m_nodes.isEmpty();
    const bool scope = m_analysis && !some && m_shownScope;
    m_empty->setVisible(!some && !scope);
    m_scroll->setVisible(some);
    m_scopeView->setVisible(scope);
    m_scopeView->show(scope ? m_analysis : nullptr, m_shownScope);
    const NodeId node = some ? m_nodes.last() : NodeId();
    m_model->show(some ? m_analysis : nullptr, node);
    m_problems->show(m_nodes.size() == 1 ? m_analysis : nullptr, node);
    if (!some)
        return;
    refreshHeader();
    refreshStage();
    refreshAttributes();
    fitTable();
    if (!m_table->currentIndex().isValid() && m_model->rowCount() > 0)
        m_table->setCurrentIndex(m_model->index(0, 0));
    currentTensorChanged();
}

std::vector<QList<NodeId>> InspectorPanel::nodesByOperator() const {
    const GraphIndex& graph = m_analysis->graph();
    std::map<std::pair<std::string_view, std::string_view>, QList<NodeId>> operators;
    for (const NodeId node : m_nodes)
        operators[{graph.opType(node), graph.domain(node)}] << node;
    std::vector<QList<NodeId>> result;
    for (auto& [op, nodes] : operators)
        result.push_back(std::move(nodes));
    std::ranges::stable_sort(result, std::greater<>(), &QList<NodeId>::size);
    return result;
}

QString InspectorPanel::operatorText(NodeId node) const {
    const GraphIndex& graph = m_analysis->graph();
    const std::string op(graph.opType(node)), domain(graph.domain(node));
    return oneLine(domain.empty() ? op : domain + "::" + op);
}

void InspectorPanel::refreshOperators() {
    const auto operators = nodesByOperator();
    const auto text = [this](const QList<NodeId>& nodes) {
        const QString op = operatorText(nodes.front());
        return nodes.size() == 1 ? op : QStringLiteral("%1 × %2").arg(op).arg(nodes.size());
    };
    // One operator is nothing to choose from.
    const bool mixed = operators.size() > 1;
    m_operators->setVisible(mixed);
    m_name->setVisible(!mixed);
    m_name->setText(text(operators.front()));
    QStringList links;
    for (std::size_t i = 0; mixed && i < operators.size() && i < kMaxOperators; ++i)
        links << QStringLiteral("<a href=\"%1\">%2</a>")
                     .arg(i)
                     .arg(text(operators[i]).toHtmlEscaped());
    if (operators.size() > kMaxOperators)
        links << QStringLiteral("…");
    m_operators->setText(links.join(QStringLiteral(", ")));
}

void InspectorPanel::selectOperator(int index) {
    const auto operators =
        m_analysis && !m_nodes.isEmpty() ? nodesByOperator() : std::vector<QList<NodeId>>();
    if (index >= 0 && static_cast<std::size_t>(index) < operators.size())
        emit nodesWanted(operators[static_cast<std::size_t>(index)]);
}

void InspectorPanel::refreshHeader() {
    const GraphIndex& graph = m_analysis->graph();
    const NodeInfo& node = graph.node(m_nodes.last());
    if (m_nodes.size() > 1) {
        m_operator->setText(tr("%1 nodes").arg(m_nodes.size()));
        refreshOperators();
        m_scope->setText(
            tr("As at %1; changes go to all alike").arg(oneLine(graph.label(node.id), 60)));
    } else {
        m_operator->setText(operatorText(node.id));
        m_operators->hide();
        m_name->show();
        m_name->setText(oneLine(graph.label(node.id), 500));
        const QString scope = oneLine(graph.scope(node.scope).path, 500);
        m_scope->setText(scope.isEmpty() ? tr("node %1").arg(node.index)
                                         : tr("%1 · node %2").arg(scope).arg(node.index));
    }
    m_tensorsTitle->setText(tr("Inputs and outputs"));
}

void InspectorPanel::refreshStage() {
    const bool has = m_analysis->hasConfiguration;
    m_stageRow->setVisible(has);
    m_addMesh->setVisible(!has);
    if (!has)
        return;
    const int stage = stageOf(m_session->document(), *m_analysis, m_nodes.last());
    const bool same = std::ranges::all_of(m_nodes, [&](NodeId node) {
        const auto& specs = m_analysis->annotations.nodes;
        return node == m_nodes.last() ||
               (node.index() < specs.size() && specs[node.index()] ? specs[node.index()]->stage
                                                                   : -1) == stage;
    });
    m_stage->setStage(same ? std::optional(stage) : std::nullopt);
    const DeviceGroup devices =
        stage < 0 ? DeviceGroup{} : m_analysis->configuration.stageDevices(stage);
    m_stageDevices->setText(stage < 0 || !same ? QString()
                            : devices.empty()  ? tr("not bound to devices")
                                               : tr("devices %1").arg(deviceList(devices)));
    bool annotated = false;
    for (const NodeId node : m_nodes)
        annotated = annotated || m_session->document().annotations.nodes[node.index()];
    m_clear->setEnabled(annotated);
}

void InspectorPanel::refreshAttributes() {
    const auto texts = attributeTexts(m_analysis->graph(), m_nodes.last());
    m_attributes->clear();
    m_attributes->parentWidget()->setVisible(!texts.empty() && m_nodes.size() == 1);
    for (const AttributeText& text : texts) {
        auto* item = new QTreeWidgetItem({oneLine(text.name), oneLine(text.value, 500)});
        item->setToolTip(0, toolTipText(toQt(text.type)));
        item->setToolTip(1, toolTipText(toQt(text.value)));
        m_attributes->addTopLevelItem(item);
    }
    const int rows = std::min<int>(static_cast<int>(texts.size()), kMaxTableRows);
    m_attributes->setFixedHeight(m_attributes->header()->sizeHint().height() +
                                 rows * std::max(m_attributes->sizeHintForRow(0), 18) + 4);
}

void InspectorPanel::fitTable() {
    const int rows = std::clamp(m_model->rowCount(), 1, kMaxTableRows);
    m_table->setFixedHeight(m_table->header()->sizeHint().height() +
                            rows * std::max(m_table->sizeHintForRow(0), 20) + 4);
}

std::vector<TensorSlot> InspectorPanel::likeSlots(TensorSlot slot) const {
    const GraphIndex& graph = m_analysis->graph();
    const TensorInfo& info = m_analysis->shapes->of(valueAt(graph, slot));
    std::vector<TensorSlot> tensorSlots{slot};
    for (const NodeId node : m_nodes) {
        const TensorSlot other{node, slot.output, slot.slot};
        if (node == slot.node || graph.opType(node) != graph.opType(slot.node) ||
            graph.domain(node) != graph.domain(slot.node))
            continue;
        const ValueId value = valueAt(graph, other);
        if (!value)
            continue;
        const TensorInfo& otherInfo = m_analysis->shapes->of(value);
        if (otherInfo.concrete() && otherInfo.dims.size() == info.dims.size())
            tensorSlots.push_back(other);
    }
    return tensorSlots;
}

void InspectorPanel::currentTensorChanged() {
    const QModelIndex current = m_table->currentIndex();
    const bool valid = m_analysis && current.isValid() && current.row() < m_model->rowCount();
    if (!valid)
        m_editor->show(nullptr, {});
    else
        m_editor->show(m_analysis, likeSlots(m_model->slot(current.row())));
    emit tensorShown(valid ? m_model->value(current.row()) : ValueId(),
                     valid ? m_model->slot(current.row()) : TensorSlot());
}

QString InspectorPanel::placesText() const {
    return m_nodes.size() > 1 ? tr("%1 nodes").arg(m_nodes.size())
                              : oneLine(m_analysis->graph().label(m_nodes.front()), 40);
}

void InspectorPanel::stageChosen(int stage) {
    const std::vector<NodeId> nodes(m_nodes.begin(), m_nodes.end());
    m_session->push(assignStage(m_session->document(), *m_analysis, nodes, stage),
                    stage < 0 ? tr("Remove stage of %1").arg(placesText())
                              : tr("Assign stage %1 to %2").arg(stage).arg(placesText()));
}

void InspectorPanel::clearAnnotations() {
    const std::vector<NodeId> nodes(m_nodes.begin(), m_nodes.end());
    m_session->push(clearNodes(m_session->document(), *m_analysis, nodes),
                    tr("Remove annotations of %1").arg(placesText()));
}

}  // namespace shardwright
