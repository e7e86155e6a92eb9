// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/communication_panel.h"

#include "ui/panels/chips.h"
#include "ui/panels/communication_model.h"
#include "ui/panels/name_delegate.h"
#include "ui/window/text.h"

#include <QBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QTreeView>

#include <algorithm>
#include <iterator>
#include <utility>

namespace shardwright {

CommunicationPanel::CommunicationPanel(QWidget* parent) : QWidget(parent) {
    m_model = new CommunicationModel(this);
    m_sorted = new QSortFilterProxyModel(this);
    m_sorted->setSourceModel(m_model);
    m_sorted->setSortRole(CommunicationModel::SortRole);
    m_view = new QTreeView(this);
    m_view->setObjectName(QStringLiteral("communication"));
    m_view->setModel(m_sorted);
    m_view->setRootIsDecorated(false);
    m_view->setUniformRowHeights(true);
    m_view->setAllColumnsShowFocus(true);
    m_view->setSortingEnabled(true);
    m_view->header()->setSortIndicator(-1, Qt::AscendingOrder);
    m_view->setItemDelegateForColumn(CommunicationModel::Axes, new ChipDelegate(m_view));
    for (const int column : {CommunicationModel::Node, CommunicationModel::Tensor})
        m_view->setItemDelegateForColumn(column, new NameDelegate(m_view, Qt::ElideLeft));
    m_view->setAccessibleName(tr("Communication"));
    QHeaderView* header = m_view->header();
    header->setStretchLastSection(false);
    constexpr std::pair<int, int> kWidths[] = {{CommunicationModel::Kind, 115},
                                               {CommunicationModel::Axes, 60},
                                               {CommunicationModel::Bytes, 70},
                                               {CommunicationModel::Sent, 70},
                                               {CommunicationModel::Groups, 75}};
    for (const auto& [column, width] : kWidths)
        header->resizeSection(column, width);
    connect(m_view, &QTreeView::activated, this, [this](const QModelIndex& index) {
        if (const CommEntry* entry = m_model->entry(m_sorted->mapToSource(index).row()))
            emit nodeWanted(entry->node);
    });
    m_empty = new QLabel(this);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setProperty("role", "muted");
    m_cause = new QLabel(this);
    m_cause->setTextFormat(Qt::PlainText);
    m_cause->setWordWrap(true);
    m_cause->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_cause->hide();
    connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            &CommunicationPanel::showCause);
    m_total = new QLabel(this);
    m_total->setTextFormat(Qt::PlainText);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 8);
    column->setSpacing(6);
    column->addWidget(m_view, 1);
    column->addWidget(m_empty, 1);
    column->addWidget(m_cause);
    column->addWidget(m_total);
    setAnalysis(nullptr);
}

/// The cause of the current entry in full; the column has room for its beginning only.
void CommunicationPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    shareWidth();
}

void CommunicationPanel::shareWidth() {
    QHeaderView* header = m_view->header();
    int left = m_view->viewport()->width();
    for (const int column :
         {CommunicationModel::Kind, CommunicationModel::Axes, CommunicationModel::Bytes,
          CommunicationModel::Sent, CommunicationModel::Groups})
        left -= header->sectionSize(column);
    const int node = std::max(200, left * 2 / 5), tensor = std::max(90, left / 5);
    header->resizeSection(CommunicationModel::Node, node);
    header->resizeSection(CommunicationModel::Tensor, tensor);
    header->resizeSection(CommunicationModel::Cause, std::max(160, left - node - tensor));
}

void CommunicationPanel::showCause() {
    const QModelIndex current = m_view->currentIndex();
    const CommEntry* entry =
        current.isValid() ? m_model->entry(m_sorted->mapToSource(current).row()) : nullptr;
    m_cause->setText(entry ? toQt(entry->cause).left(2000) : QString());
    m_cause->setVisible(entry);
}

QString CommunicationPanel::totalText(const Analysis& analysis) const {
    QStringList kinds;
    std::int64_t operations = 0;
    for (const auto& [kind, total] : analysis.communication.byKind()) {
        kinds << QStringLiteral("%1 × %2").arg(total.count).arg(toQt(collectiveName(kind)));
        operations += total.count;
    }
    QString text =
        tr("Total %1 · %2")
            .arg(byteText(analysis.communication.totalBytes), kinds.join(QStringLiteral(", ")));
    // Every group does a row's collective by itself.
    const std::int64_t rows = std::ssize(analysis.communication.entries);
    if (operations != rows)
        text += rows == 1 ? tr(" (by groups, in 1 row)") : tr(" (by groups, in %1 rows)").arg(rows);
    return text;
}

void CommunicationPanel::setAnalysis(std::shared_ptr<const Analysis> analysis) {
    const int row = m_view->currentIndex().row();
    m_model->setAnalysis(analysis);
    if (row >= 0 && row < m_sorted->rowCount())
        m_view->setCurrentIndex(m_sorted->index(row, 0));
    showCause();
    const bool any = m_model->rowCount() > 0;
    m_view->setVisible(any);
    m_empty->setVisible(!any);
    m_total->setVisible(any);
    m_empty->setText(!analysis ? tr("Open a model to see what it communicates.")
                     : !analysis->hasConfiguration
                         ? tr("Nothing is sharded: the model has no device configuration.")
                     : analysis->count(Severity::Error) > 0
                         ? tr("Nothing is communicated before the errors. What is behind them is "
                              "known when they are mended.")
                         : tr("Nothing is communicated."));
    if (any) {
        m_total->setText(totalText(*analysis));
        m_total->setToolTip(exactByteText(analysis->communication.totalBytes));
    }
}

}  // namespace shardwright
