// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/communication_model.h"

#include "ui/panels/chips.h"
#include "ui/window/text.h"

#include <QApplication>
#include <QIcon>

namespace shardwright {
namespace {

constexpr std::size_t kMostGroups = 4;

QString groupsText(const std::vector<DeviceGroup>& groups, std::size_t most) {
    QStringList parts;
    for (const DeviceGroup& group : groups) {
        if (static_cast<std::size_t>(parts.size()) == most) {
            parts << QStringLiteral("… (%1)").arg(groups.size());
            break;
        }
        parts << u'{' + deviceList(group) + u'}';
    }
    return parts.join(u' ');
}

/// As beside the line in the graph, and as the total adds them.
std::int64_t bytesOfAllGroups(const CommEntry& entry) {
    return entry.bytes * static_cast<std::int64_t>(entry.groups.size());
}

}  // namespace

void CommunicationModel::setAnalysis(std::shared_ptr<const Analysis> analysis) {
    beginResetModel();
    m_analysis = std::move(analysis);
    endResetModel();
}

const CommEntry* CommunicationModel::entry(int row) const {
    if (!m_analysis || row < 0 ||
        static_cast<std::size_t>(row) >= m_analysis->communication.entries.size())
        return nullptr;
    return &m_analysis->communication.entries[static_cast<std::size_t>(row)];
}

int CommunicationModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !m_analysis
               ? 0
               : static_cast<int>(m_analysis->communication.entries.size());
}

int CommunicationModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QString CommunicationModel::axesText(const CommEntry& entry) const {
    QStringList names;
    for (const int axis : entry.axes)
        names << toQt(m_analysis->configuration.mesh.axes[static_cast<std::size_t>(axis)].name);
    return names.join(QStringLiteral(", "));
}

QVariant CommunicationModel::text(const CommEntry& entry, int column) const {
    switch (column) {
        case Kind: {
            const QString kind = toQt(collectiveName(entry.kind));
            return entry.reduce == ReduceKind::None
                       ? kind
                       : tr("%1 (%2)").arg(kind, toQt(reduceKindName(entry.reduce)));
        }
        case Axes: return axesText(entry);
        case Groups: return groupsText(entry.groups, kMostGroups);
        case Node: return oneLine(m_analysis->graph().label(entry.node));
        case Tensor: return oneLine(m_analysis->graph().value(entry.value).name);
        case Bytes: return byteText(bytesOfAllGroups(entry));
        case Sent: return byteText(entry.bytesSentTotal);
        case Cause: return oneLine(entry.cause, 400);
        default: return {};
    }
}

QString CommunicationModel::toolTip(const CommEntry& entry, int column) const {
    switch (column) {
        case Bytes:
            return entry.groups.size() == 1 ? exactByteText(entry.bytes)
                                            : tr("%1: %2 groups of %3")
                                                  .arg(exactByteText(bytesOfAllGroups(entry)))
                                                  .arg(entry.groups.size())
                                                  .arg(exactByteText(entry.bytes));
        case Sent:
            return tr("%1 in all; the busiest device sends %2")
                .arg(exactByteText(entry.bytesSentTotal), exactByteText(entry.bytesSentMax));
        case Groups: return groupsText(entry.groups, 64);
        case Kind:
            return entry.phase == CommPhase::Input ? tr("before the node computes")
                                                   : tr("after the node computed");
        case Node: {
            const GraphIndex& graph = m_analysis->graph();
            return toQt(graph.scope(graph.node(entry.node).scope).path + "/" +
                        graph.label(entry.node))
                .left(1000);
        }
        case Tensor: return toQt(m_analysis->graph().value(entry.value).name).left(1000);
        default: return toQt(entry.cause).left(2000);
    }
}

QVariant CommunicationModel::data(const QModelIndex& index, int role) const {
    const CommEntry* entry = index.isValid() ? this->entry(index.row()) : nullptr;
    if (!entry)
        return {};
    const int column = index.column();
    switch (role) {
        case Qt::DisplayRole: return text(*entry, column);
        case Qt::ToolTipRole: return toolTipText(toolTip(*entry, column));
        case Qt::TextAlignmentRole:
            return column == Bytes || column == Sent ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                                                     : QVariant();
        case ChipDelegate::ChipsRole: {
            QList<Chip> chips;
            if (column == Axes)
                for (const int axis : entry->axes)
                    chips << Chip{
                        toQt(m_analysis->configuration.mesh.axes[static_cast<std::size_t>(axis)]
                                 .name),
                        axisColour(axis, QApplication::palette()), true};
            return chips.isEmpty() ? QVariant() : QVariant::fromValue(chips);
        }
        case SortRole:
            return column == Bytes  ? QVariant(static_cast<qlonglong>(bytesOfAllGroups(*entry)))
                   : column == Sent ? QVariant(static_cast<qlonglong>(entry->bytesSentTotal))
                                    : text(*entry, column);
        default: return {};
    }
}

QString CommunicationModel::headerToolTip(int section) {
    switch (section) {
        case Bytes:
            return tr("Bytes of what is communicated, in all groups: bytes of one group times the "
                      "number of groups. The graph and the total say the same.");
        case Sent: return tr("Bytes that all devices together send for it");
        case Groups:
            return tr("Devices that communicate with each other. Each group does the collective "
                      "by itself: a row with two groups counts as two group operations.");
        default: return {};
    }
}

QVariant CommunicationModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole && (section == Bytes || section == Sent))
        return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    if (role == Qt::ToolTipRole)
        return headerToolTip(section).isEmpty() ? QVariant() : toolTipText(headerToolTip(section));
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
        case Kind: return tr("Kind");
        case Axes: return tr("Axes");
        case Groups: return tr("Groups");
        case Node: return tr("Node");
        case Tensor: return tr("Tensor");
        case Bytes: return tr("Bytes");
        case Sent: return tr("Sent");
        case Cause: return tr("Cause");
        default: return {};
    }
}

}  // namespace shardwright
