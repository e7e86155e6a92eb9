// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/proposals_model.h"

#include "ui/panels/chips.h"
#include "ui/window/text.h"

#include <QApplication>

namespace shardwright {

void ProposalsModel::show(std::shared_ptr<const ProposalList> list,
                          std::vector<ProposalGroup> groups) {
    beginResetModel();
    m_list = std::move(list);
    m_groups = std::move(groups);
    m_shown = 0;
    for (const ProposalGroup& group : m_groups)
        m_shown += group.size();
    endResetModel();
}

// A member knows its group by number + 1; 0 is a row of its own.
QModelIndex ProposalsModel::index(int row, int column, const QModelIndex& parent) const {
    if (!hasIndex(row, column, parent))
        return {};
    return createIndex(row, column,
                       parent.isValid() ? static_cast<quintptr>(parent.row()) + 1 : quintptr{0});
}

QModelIndex ProposalsModel::parent(const QModelIndex& index) const {
    return index.isValid() && index.internalId() > 0
               ? createIndex(static_cast<int>(index.internalId()) - 1, 0, quintptr{0})
               : QModelIndex();
}

int ProposalsModel::rowCount(const QModelIndex& parent) const {
    if (!parent.isValid())
        return static_cast<int>(m_groups.size());
    if (parent.internalId() > 0 || parent.column() > 0)
        return 0;
    const auto members = m_groups[static_cast<std::size_t>(parent.row())].size();
    return members > 1 ? static_cast<int>(members) : 0;
}

int ProposalsModel::columnCount(const QModelIndex&) const {
    return ColumnCount;
}

ProposalGroup ProposalsModel::proposalsAt(const QModelIndex& index) const {
    if (!index.isValid())
        return {};
    if (index.internalId() == 0)
        return m_groups[static_cast<std::size_t>(index.row())];
    return {m_groups[index.internalId() - 1][static_cast<std::size_t>(index.row())]};
}

std::string ProposalsModel::nodeName(const Proposal& proposal) const {
    return m_list->graph().label(proposal.slot.node);
}

std::string ProposalsModel::tensorName(const Proposal& proposal) const {
    return m_list->graph().value(proposal.value).name;
}

/// "tp: `w` at fc1"; each annotation once.
std::string ProposalsModel::sourceName(const Proposal& proposal) const {
    const GraphIndex& graph = m_list->graph();
    std::string text;
    for (const ProposalSource& source : proposal.sources) {
        const ValueId value =
            source.annotation.node ? valueAt(graph, source.annotation) : ValueId();
        std::string words = m_list->proposals.space->text(source.axis) + ": ";
        words += value
                     ? "`" + graph.value(value).name + "` at " + graph.label(source.annotation.node)
                     : source.words;
        if (text.find(words) == std::string::npos)
            text += (text.empty() ? "" : "; ") + words;
    }
    return text;
}

/// Outlined, as layouts are that nobody has set.
QList<Chip> ProposalsModel::chips(const ProposalGroup& rows) const {
    return layoutChips(*m_list->analysis, proposal(rows.front()).layout, LayoutSource::Inferred,
                       QApplication::palette());
}

QString ProposalsModel::text(const ProposalGroup& rows, int column) const {
    const Proposal& first = proposal(rows.front());
    const Proposal& last = proposal(rows.back());
    switch (column) {
        case Node: {
            const QString name = oneLine(commonName(nodeName(first), nodeName(last)));
            return rows.size() == 1 ? name : tr("%1 × %2").arg(name).arg(rows.size());
        }
        case Tensor: return oneLine(commonName(tensorName(first), tensorName(last)));
        case LayoutColumn: {
            QStringList words;
            for (const Chip& chip : chips(rows))
                words << chip.text;
            return words.join(u' ');
        }
        case Reshard: return first.reshard ? tr("resharded here") : QString();
        case From: return oneLine(commonName(sourceName(first), sourceName(last)), 400);
        default: return {};
    }
}

QString ProposalsModel::toolTip(const ProposalGroup& rows, int column) const {
    const Proposal& first = proposal(rows.front());
    switch (column) {
        case Node:
            return rows.size() == 1 ? text(rows, Node)
                                    : tr("%1\nFrom %2 to %3")
                                          .arg(text(rows, Node), oneLine(nodeName(first)),
                                               oneLine(nodeName(proposal(rows.back()))));
        case Tensor:
            return (first.slot.output ? tr("Output %1 of the node: %2")
                                      : tr("Input %1 of the node: %2"))
                .arg(first.slot.slot)
                .arg(text(rows, Tensor));
        case Reshard:
            return first.reshard ? tr("It arrives with another layout, and would be resharded "
                                      "before the node computes")
                                 : QString();
        case From: {
            QStringList words;
            for (const ProposalSource& source : first.sources)
                words << toQt(source.words).left(2000);
            return words.join(u'\n');
        }
        default: return {};
    }
}

QVariant ProposalsModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || !m_list)
        return {};
    const ProposalGroup rows = proposalsAt(index);
    switch (role) {
        case Qt::DisplayRole: return text(rows, index.column());
        case Qt::ToolTipRole: {
            const QString words = toolTip(rows, index.column());
            return words.isEmpty() ? QVariant() : toolTipText(words);
        }
        case ChipDelegate::ChipsRole:
            return index.column() == LayoutColumn ? QVariant::fromValue(chips(rows)) : QVariant();
        default: return {};
    }
}

QVariant ProposalsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::ToolTipRole)
        return section == From ? toolTipText(tr("The annotations that the axes come from"))
               : section == LayoutColumn
                   ? toolTipText(tr("One sign a dimension: the axes that split it, or a dot"))
                   : QVariant();
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
        case Node: return tr("Node");
        case Tensor: return tr("Tensor");
        case LayoutColumn: return tr("Layout");
        case Reshard: return tr("Reshard");
        case From: return tr("Comes From");
        default: return {};
    }
}

}  // namespace shardwright
