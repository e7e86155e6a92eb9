// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/rows_view.h"

#include "ui/panels/name_delegate.h"

#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QStackedLayout>
#include <QStyleOptionHeader>
#include <QTreeView>

#include <algorithm>

namespace shardwright {
namespace {

/// Rows whose texts decide how wide a column is.
constexpr int kRowsMeasured = 200;
constexpr int kPadding = 18;
constexpr int kSortMark = 14;
/// The first name, mostly a node's, has to tell rows apart.
constexpr int kNarrowestFirstName = 170, kNarrowestName = 110, kWidestShort = 220;

/// Keeps right-aligned titles clear of the mark of the sorted column.
class SortHeader : public QHeaderView {
public:
    explicit SortHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {
        setSectionsClickable(true);
    }

protected:
    void initStyleOptionForIndex(QStyleOptionHeader* option, int section) const override {
        QHeaderView::initStyleOptionForIndex(option, section);
        if (isSortIndicatorShown() && sortIndicatorSection() == section &&
            (option->textAlignment & Qt::AlignRight))
            option->text += QStringLiteral("\u2003");
    }
};

}  // namespace

RowsView::RowsView(const QString& name, std::vector<RowColumn> columns, QWidget* parent)
    : QWidget(parent), m_fixed(columns.size(), 0) {
    m_model = new RowsModel(std::move(columns), this);
    m_sorted = new QSortFilterProxyModel(this);
    m_sorted->setSourceModel(m_model);
    m_sorted->setSortRole(RowsModel::SortRole);
    m_sorted->setFilterKeyColumn(-1);
    m_sorted->setFilterCaseSensitivity(Qt::CaseInsensitive);
    m_view = new QTreeView(this);
    m_view->setAccessibleName(name);
    m_view->setHeader(new SortHeader(m_view));
    m_view->setModel(m_sorted);
    m_view->setRootIsDecorated(false);
    m_view->setUniformRowHeights(true);
    m_view->setAllColumnsShowFocus(true);
    m_view->setSortingEnabled(true);
    m_view->header()->setSortIndicator(-1, Qt::AscendingOrder);
    m_view->header()->setStretchLastSection(false);
    const auto& kinds = m_model->columns();
    for (std::size_t i = 0; i < kinds.size(); ++i)
        if (kinds[i].kind == RowColumn::Kind::Name)
            m_view->setItemDelegateForColumn(static_cast<int>(i),
                                             new NameDelegate(m_view, Qt::ElideLeft));
    m_view->viewport()->installEventFilter(this);
    connect(m_view, &QTreeView::clicked, this, &RowsView::go);
    connect(m_view, &QTreeView::activated, this, &RowsView::go);
    m_hint = new QLabel(this);
    m_hint->setTextFormat(Qt::PlainText);
    m_hint->setAlignment(Qt::AlignCenter);
    m_hint->setWordWrap(true);
    m_hint->setMargin(8);
    // Its height for the narrowest width would be that of the dock.
    m_hint->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
    m_hint->setProperty("role", "muted");
    m_stack = new QStackedLayout(this);
    m_stack->addWidget(m_view);
    m_stack->addWidget(m_hint);
    showHint();
}

void RowsView::go(const QModelIndex& index) {
    const int row = m_sorted->mapToSource(index).row();
    if (const NodeId node = m_model->rows()[static_cast<std::size_t>(row)].node)
        emit nodeWanted(node);
}

void RowsView::sortBy(int column, Qt::SortOrder order) {
    m_view->sortByColumn(column, order);
}

void RowsView::setRows(std::vector<Row> rows) {
    const bool fit = static_cast<int>(rows.size()) != m_model->rowCount();
    m_model->setRows(std::move(rows));
    if (fit)
        fitColumns();
    showHint();
}

void RowsView::setHint(const QString& hint) {
    m_empty = hint;
    showHint();
}

void RowsView::showHint() {
    const bool any = m_sorted->rowCount() > 0;
    m_hint->setText(m_model->rowCount() == 0 ? m_empty : tr("Nothing has this in its row."));
    m_stack->setCurrentIndex(any ? 0 : 1);
}

void RowsView::setFilter(const QString& text) {
    m_sorted->setFilterFixedString(text);
    showHint();
}

void RowsView::setColumnShown(int column, bool shown) {
    if (m_view->isColumnHidden(column) != shown)
        return;
    m_view->setColumnHidden(column, !shown);
    fitColumns();
}

void RowsView::setDelegate(int column, QAbstractItemDelegate* delegate, int width) {
    m_view->setItemDelegateForColumn(column, delegate);
    m_fixed[static_cast<std::size_t>(column)] = width;
}

int RowsView::rowCount() const {
    return m_sorted->rowCount();
}

QString RowsView::text(int row, int column) const {
    return m_sorted->index(row, column).data().toString();
}

/// As wide as the header and the longest of the first rows.
void RowsView::fitColumns() {
    const QFontMetrics metrics = m_view->fontMetrics();
    const auto& columns = m_model->columns();
    const int rows = std::min(m_sorted->rowCount(), kRowsMeasured);
    for (int column = 0; column < static_cast<int>(columns.size()); ++column) {
        const RowColumn& kind = columns[static_cast<std::size_t>(column)];
        if (kind.kind == RowColumn::Kind::Name)
            continue;
        int width = metrics.horizontalAdvance(kind.title) + kSortMark;
        for (int row = 0; row < rows; ++row)
            width = std::max(width, metrics.horizontalAdvance(text(row, column)));
        width = std::min(width, kWidestShort) + kPadding;
        if (const int fixed = m_fixed[static_cast<std::size_t>(column)])
            width = fixed;
        m_view->header()->resizeSection(column, width);
    }
    shareWidth();
}

/// Names share what the other columns leave; where that is too little, the table scrolls.
void RowsView::shareWidth() {
    const auto& columns = m_model->columns();
    QHeaderView* header = m_view->header();
    int left = m_view->viewport()->width(), names = 0;
    for (int column = 0; column < static_cast<int>(columns.size()); ++column)
        if (columns[static_cast<std::size_t>(column)].kind == RowColumn::Kind::Name)
            names += m_view->isColumnHidden(column) ? 0 : 1;
        else
            left -= m_view->isColumnHidden(column) ? 0 : header->sectionSize(column);
    int least = kNarrowestFirstName;
    for (int column = 0; column < static_cast<int>(columns.size()); ++column) {
        if (columns[static_cast<std::size_t>(column)].kind != RowColumn::Kind::Name)
            continue;
        const int width = std::max(least, left / std::max(1, names));
        header->resizeSection(column, width);
        left -= width;
        --names;
        least = kNarrowestName;
    }
}

/// The room for columns changes with the scroll bar, and when a tab is shown for the first time.
bool RowsView::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize)
        shareWidth();
    return QWidget::eventFilter(watched, event);
}

void RowsView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange)
        fitColumns();
}

}  // namespace shardwright
