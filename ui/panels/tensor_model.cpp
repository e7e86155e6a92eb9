// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/tensor_model.h"

#include "sharding/shard_text.h"
#include "ui/canvas/overlay.h"
#include "ui/panels/chips.h"
#include "ui/window/text.h"

#include <QApplication>
#include <QFont>

namespace shardwright {

QString shapeText(const TensorInfo& info) {
    if (info.kind == TensorInfo::Kind::Unknown)
        return QCoreApplication::translate("TensorModel", "unknown");
    if (info.kind == TensorInfo::Kind::Other)
        return QCoreApplication::translate("TensorModel", "not a tensor");
    const QString type = toQt(elementTypeName(info.elementType)).toLower();
    if (!info.hasRank)
        return QCoreApplication::translate("TensorModel", "%1, unknown rank").arg(type);
    if (info.dims.empty())
        return QCoreApplication::translate("TensorModel", "%1 scalar").arg(type);
    QStringList sizes;
    for (std::size_t i = 0; i < info.dims.size(); ++i) {
        const QString symbol = dimensionSymbol(info, i);
        sizes << (info.dims[i] >= 0  ? QString::number(info.dims[i])
                  : symbol.isEmpty() ? QStringLiteral("?")
                                     : oneLine(symbol, 20));
    }
    return type + u' ' + sizes.join(QStringLiteral("×"));
}

QString dimensionSymbol(const TensorInfo& info, std::size_t dim) {
    return dim < info.symbolic.size() && isNamedSymbol(info.symbolic[dim].symbol)
               ? toQt(info.symbolic[dim].symbol)
               : QString();
}

QString sourceText(LayoutSource source) {
    switch (source) {
        case LayoutSource::Explicit: return QCoreApplication::translate("TensorModel", "explicit");
        case LayoutSource::Inferred: return QCoreApplication::translate("TensorModel", "inferred");
        case LayoutSource::Everywhere:
            return QCoreApplication::translate("TensorModel", "everywhere");
        case LayoutSource::Unknown: return QCoreApplication::translate("TensorModel", "unknown");
    }
    return {};
}

void TensorModel::show(std::shared_ptr<const Analysis> analysis, NodeId node) {
    std::vector<TensorSlot> rows;
    if (analysis && node) {
        const NodeInfo& info = analysis->graph().node(node);
        for (std::size_t i = 0; i < info.inputs.size(); ++i)
            if (info.inputs[i])
                rows.push_back({node, false, static_cast<int>(i)});
        for (std::size_t i = 0; i < info.outputs.size(); ++i)
            if (info.outputs[i])
                rows.push_back({node, true, static_cast<int>(i)});
    }
    // A view keeps its current row across an edit.
    const bool same = rows == m_rows && m_analysis && analysis &&
                      m_analysis->document.model == analysis->document.model;
    if (!same)
        beginResetModel();
    m_analysis = std::move(analysis);
    m_node = node;
    m_rows = std::move(rows);
    if (!same)
        endResetModel();
    else if (!m_rows.empty())
        emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

int TensorModel::rowOf(TensorSlot slot) const {
    const auto found = std::ranges::find(m_rows, slot);
    return found == m_rows.end() ? -1 : static_cast<int>(found - m_rows.begin());
}

ValueId TensorModel::value(int row) const {
    return valueAt(m_analysis->graph(), slot(row));
}

const SlotMeaning* TensorModel::meaning(int row) const {
    return meaningAt(*m_analysis, slot(row));
}

int TensorModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int TensorModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant TensorModel::text(int row, int column) const {
    const ValueInfo& value = m_analysis->graph().value(this->value(row));
    const SlotMeaning* meaning = this->meaning(row);
    switch (column) {
        case Tensor: {
            const QString arrow = slot(row).output ? QStringLiteral("← ") : QStringLiteral("→ ");
            return arrow + oneLine(value.name, 120);
        }
        case Shape: return shapeText(m_analysis->shapes->of(value.id));
        case Layout:
            if (!m_analysis->hasConfiguration || !meaning)
                return QStringLiteral("–");
            return meaning->layout
                       ? oneLine(shortText(*meaning->layout, m_analysis->configuration.mesh))
                       : sourceText(meaning->source);
        default: return {};
    }
}

QString TensorModel::toolTip(int row, int column) const {
    const ValueInfo& value = m_analysis->graph().value(this->value(row));
    const SlotMeaning* meaning = this->meaning(row);
    if (column == Layout && meaning && m_analysis->hasConfiguration) {
        const QString what = meaning->layout
                                 ? toQt(describe(*meaning->layout, m_analysis->configuration.mesh))
                                 : QString();
        return toolTipText(sourceText(meaning->source) + (what.isEmpty() ? what : u'\n' + what));
    }
    const QString role =
        slot(row).output                       ? tr("output %1").arg(slot(row).slot)
        : value.kind == ValueKind::Initializer ? tr("input %1, initializer").arg(slot(row).slot)
        : value.kind == ValueKind::GraphInput  ? tr("input %1, model input").arg(slot(row).slot)
                                               : tr("input %1").arg(slot(row).slot);
    return toolTipText(oneLine(value.name, 1000) + u'\n' + role);
}

QVariant TensorModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || !m_analysis)
        return {};
    const int row = index.row();
    switch (role) {
        case Qt::DisplayRole: return text(row, index.column());
        case Qt::ToolTipRole: return toolTip(row, index.column());
        case Qt::AccessibleTextRole:
            return QStringLiteral("%1 %2").arg(slot(row).output ? tr("output") : tr("input"),
                                               text(row, index.column()).toString());
        case ChipDelegate::ChipsRole:
            if (const SlotMeaning* meaning = this->meaning(row);
                index.column() == Layout && meaning && m_analysis->hasConfiguration)
                return QVariant::fromValue(layoutChips(*m_analysis, meaning->layout,
                                                       meaning->source, QApplication::palette()));
            return {};
        default: return {};
    }
}

QVariant TensorModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (role != Qt::DisplayRole || orientation != Qt::Horizontal)
        return {};
    switch (section) {
        case Tensor: return tr("Tensor");
        case Shape: return tr("Type and shape");
        case Layout: return tr("Layout");
        default: return {};
    }
}

}  // namespace shardwright
