// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/structure_panel.h"

#include "ui/panels/found_model.h"
#include "ui/panels/name_delegate.h"
#include "ui/panels/node_search.h"
#include "ui/panels/structure_model.h"
#include "ui/window/editor_session.h"
#include "ui/window/text.h"
#include "ui/window/theme.h"

#include <QBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QStackedWidget>
#include <QToolButton>
#include <QTreeView>

#include <algorithm>

namespace shardwright {
namespace {

constexpr int kSearchDelayMs = 120;
constexpr int kMinimumCharacters = 24;

}  // namespace

StructurePanel::StructurePanel(EditorSession* session, QWidget* parent)
    : QWidget(parent), m_session(session) {
    m_model = new StructureModel(this);
    m_found = new FoundModel(this);
    m_tree = new QTreeView(this);
    m_tree->setObjectName(QStringLiteral("structure"));
    m_tree->setModel(m_model);
    m_tree->setAccessibleName(tr("Structure of the model"));
    m_tree->setHeaderHidden(true);
    m_tree->setUniformRowHeights(true);
    m_tree->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_tree->setTextElideMode(Qt::ElideMiddle);
    m_list = new QListView(this);
    m_list->setObjectName(QStringLiteral("found"));
    m_list->setModel(m_found);
    m_list->setUniformItemSizes(true);
    m_list->setAccessibleName(tr("Nodes found"));
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* names = new NameDelegate(m_list, Qt::ElideLeft);
    names->setNarrow();
    m_list->setItemDelegate(names);
    m_stack = new QStackedWidget(this);
    m_stack->addWidget(m_tree);
    m_stack->addWidget(m_list);

    connect(m_tree->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
        if (m_showing)
            return;
        QList<NodeId> nodes;
        for (const QModelIndex& index : m_tree->selectionModel()->selectedIndexes())
            if (const NodeId node = m_model->node(index))
                nodes << node;
        if (nodes.size() == 1)
            emit nodeWanted(nodes.front());
        else if (!nodes.isEmpty())
            emit nodesWanted(nodes);
        else if (const ScopeId scope = m_model->scope(m_tree->currentIndex()))
            emit scopeWanted(scope);
    });
    connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this,
            [this](const QModelIndex& index) {
                updateCount();
                if (index.isValid())
                    emit nodeWanted(m_found->nodes()[static_cast<std::size_t>(index.row())]);
            });
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->setSpacing(6);
    column->addWidget(buildSearch());
    column->addWidget(m_stack, 1);
    // The lists were made first.
    setTabOrder(m_selectAll, m_tree);
    setTabOrder(m_tree, m_list);
    setMinimumWidth(fontMetrics().averageCharWidth() * kMinimumCharacters);
    m_delay.setSingleShot(true);
    m_delay.setInterval(kSearchDelayMs);
    connect(&m_delay, &QTimer::timeout, this, &StructurePanel::search);
    updateCount();
}

QWidget* StructurePanel::buildSearch() {
    auto* box = new QWidget(this);
    m_search = new QLineEdit(box);
    m_search->setObjectName(QStringLiteral("search"));
    m_search->setPlaceholderText(tr("Find nodes"));
    m_search->setAccessibleName(tr("Find nodes"));
    m_search->setClearButtonEnabled(true);
    m_search->addAction(themedIcon(QStringLiteral("find")), QLineEdit::LeadingPosition);
    m_search->setToolTip(
        tr("Words in names, operators, scopes and tensors, or\n"
           "op:MatMul  name:*.fc1  scope:layers.0  tensor:w1  shape:8x16  type:int64\n"
           "attr:axis=1  axis:tp  stage:1  diag:SW3  layout:explicit"));
    m_search->installEventFilter(this);
    connect(m_search, &QLineEdit::textChanged, this, [this] { m_delay.start(); });
    m_searchBar = new QWidget(box);
    m_count = new QLabel(m_searchBar);
    m_count->setProperty("role", "muted");
    const auto button = [this](const QString& icon, const QString& tip) {
        auto* result = new QToolButton(m_searchBar);
        result->setIcon(themedIcon(icon));
        result->setToolTip(tip);
        result->setAccessibleName(tip);
        result->setAutoRaise(true);
        result->setFocusPolicy(Qt::StrongFocus);
        return result;
    };
    m_previous = button(QStringLiteral("up"), tr("Previous match (Shift+F3)"));
    m_next = button(QStringLiteral("down"), tr("Next match (F3)"));
    m_selectAll = button(QStringLiteral("mesh"), tr("Select all matches"));
    m_selectAll->setText(tr("All"));
    m_selectAll->setToolButtonStyle(Qt::ToolButtonTextOnly);
    connect(m_previous, &QToolButton::clicked, this, &StructurePanel::previous);
    connect(m_next, &QToolButton::clicked, this, &StructurePanel::next);
    connect(m_selectAll, &QToolButton::clicked, this, [this] {
        // The last of a selection is the one that is looked at: the best match.
        QList<NodeId> nodes = found();
        std::reverse(nodes.begin(), nodes.end());
        emit nodesWanted(nodes);
    });
    auto* row = new QHBoxLayout(m_searchBar);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(2);
    row->addWidget(m_count, 1);
    for (QToolButton* each : {m_selectAll, m_previous, m_next})
        row->addWidget(each);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(m_search);
    column->addWidget(m_searchBar);
    return box;
}

void StructurePanel::setModel(std::shared_ptr<const Model> model) {
    m_model->setModel(model);
    openOnlyChildren();
    m_found->show(nullptr, {});
    m_analysis.reset();
    m_search->clear();
    m_delay.stop();
    m_stack->setCurrentWidget(m_tree);
    updateCount();
}

void StructurePanel::openOnlyChildren() {
    // Exporters wrap everything in a scope or two.
    QModelIndex index;
    do {
        QModelIndex only;
        int scopes = 0;
        for (int row = 0; row < m_model->rowCount(index); ++row) {
            const QModelIndex child = m_model->index(row, 0, index);
            if (!m_model->scope(child))
                break;
            only = child;
            ++scopes;
        }
        index = scopes == 1 ? only : QModelIndex();
        if (index.isValid())
            m_tree->expand(index);
    } while (index.isValid());
}

void StructurePanel::setAnalysis(std::shared_ptr<const Analysis> analysis) {
    m_analysis = std::move(analysis);
    // A search for an axis, a stage or a diagnostic follows the edits.
    if (m_analysis && !m_search->text().isEmpty())
        search();
}

void StructurePanel::showNodes(const QList<NodeId>& nodes) {
    // The tree would open everything around every one of a great many.
    constexpr qsizetype kMost = 500;
    QItemSelection rows;
    if (nodes.size() <= kMost)
        for (const NodeId node : nodes)
            if (const QModelIndex index = m_model->indexOf(node); index.isValid())
                rows.select(index, index);
    const QModelIndex current = nodes.isEmpty() ? QModelIndex() : m_model->indexOf(nodes.last());
    QItemSelectionModel* selection = m_tree->selectionModel();
    if (m_tree->currentIndex() == current && selection->selection() == rows)
        return;
    m_showing = true;
    if (current.isValid()) {
        selection->setCurrentIndex(current, QItemSelectionModel::NoUpdate);
        m_tree->scrollTo(current);
    }
    selection->select(rows, QItemSelectionModel::ClearAndSelect);
    m_showing = false;
}

void StructurePanel::showScope(ScopeId scope) {
    const QModelIndex index = m_model->indexOf(scope);
    if (!index.isValid() || m_tree->currentIndex() == index)
        return;
    m_showing = true;
    m_tree->setCurrentIndex(index);
    m_tree->scrollTo(index);
    m_showing = false;
}

QList<NodeId> StructurePanel::found() const {
    return {m_found->nodes().begin(), m_found->nodes().end()};
}

void StructurePanel::startSearch() {
    m_search->setFocus(Qt::ShortcutFocusReason);
    m_search->selectAll();
}

void StructurePanel::search() {
    m_delay.stop();
    const QString text = m_search->text().trimmed();
    if (text.isEmpty() || !m_analysis) {
        m_session->jobs()->cancel(JobTracker::Kind::Search);
        m_stack->setCurrentWidget(m_tree);
        showFound({});
        return;
    }
    m_session->jobs()->start<std::vector<NodeId>>(
        JobTracker::Kind::Search,
        [analysis = m_analysis, query = fromQt(text)](const CancelToken& token) {
            return searchNodes(*analysis, query, token);
        },
        [this, model = m_analysis->document.model](std::vector<NodeId> nodes) {
            if (!m_analysis || m_analysis->document.model != model)
                return;
            m_stack->setCurrentWidget(m_list);
            showFound(std::move(nodes));
        });
}

void StructurePanel::showFound(std::vector<NodeId> nodes) {
    const bool changed = nodes != m_found->nodes();
    m_found->show(m_analysis ? m_analysis->document.model : nullptr, std::move(nodes));
    updateCount();
    if (changed)
        emit highlightChanged({m_found->nodes().begin(), m_found->nodes().end()});
}

void StructurePanel::step(int direction) {
    const int count = m_found->rowCount();
    if (count == 0)
        return;
    const QModelIndex current = m_list->currentIndex();
    const int row = current.isValid() ? (current.row() + direction + count) % count
                    : direction > 0   ? 0
                                      : count - 1;
    m_list->setCurrentIndex(m_found->index(row));
}

void StructurePanel::updateCount() {
    const int count = m_found->rowCount();
    const QModelIndex current = m_list->currentIndex();
    m_searchBar->setVisible(m_stack->currentWidget() == m_list);
    m_count->setText(count == 0          ? tr("No match")
                     : current.isValid() ? tr("%1 of %2").arg(current.row() + 1).arg(count)
                     : count == 1        ? tr("1 match")
                                         : tr("%1 matches").arg(count));
    for (QToolButton* button : {m_previous, m_next, m_selectAll})
        button->setEnabled(count > 0);
}

bool StructurePanel::eventFilter(QObject* object, QEvent* event) {
    if (object == m_search && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
            if (m_delay.isActive())
                search();
            else
                step(key->modifiers().testFlag(Qt::ShiftModifier) ? -1 : 1);
            return true;
        }
        if (key->key() == Qt::Key_Down) {
            m_stack->currentWidget()->setFocus();
            return true;
        }
        if (key->key() == Qt::Key_Escape && !m_search->text().isEmpty()) {
            m_search->clear();
            return true;
        }
    }
    return QWidget::eventFilter(object, event);
}

}  // namespace shardwright
