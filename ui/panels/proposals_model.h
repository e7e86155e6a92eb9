// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/panels/chips.h"
#include "ui/panels/proposal_list.h"

#include <QAbstractItemModel>

namespace shardwright {

/// Groups of proposals that look alike, with their members below; a group of one is its proposal.
class ProposalsModel : public QAbstractItemModel {
    Q_OBJECT

public:
    enum Column { Node, Tensor, LayoutColumn, Reshard, From, ColumnCount };

    using QAbstractItemModel::QAbstractItemModel;
    /// `groups`: those of the list, or what a search leaves of them.
    void show(std::shared_ptr<const ProposalList> list, std::vector<ProposalGroup> groups);
    /// Of the row: one, or those of a group.
    ProposalGroup proposalsAt(const QModelIndex& index) const;
    /// How many are shown, in all groups.
    std::size_t shownCount() const { return m_shown; }

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& index) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;

private:
    const Proposal& proposal(std::uint32_t index) const {
        return m_list->proposals.proposals[index];
    }
    std::string nodeName(const Proposal& proposal) const;
    std::string tensorName(const Proposal& proposal) const;
    std::string sourceName(const Proposal& proposal) const;
    QList<Chip> chips(const ProposalGroup& rows) const;
    QString text(const ProposalGroup& rows, int column) const;
    QString toolTip(const ProposalGroup& rows, int column) const;

    std::shared_ptr<const ProposalList> m_list;
    std::vector<ProposalGroup> m_groups;
    std::size_t m_shown = 0;
};

}  // namespace shardwright
