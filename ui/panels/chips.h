// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <QColor>
#include <QIcon>
#include <QList>
#include <QPalette>
#include <QString>
#include <QStyledItemDelegate>

namespace shardwright {

/// A small box with a word: a mesh axis in its colour, or (without colour) muted text.
struct Chip {
    QString text;
    QColor colour;       ///< Invalid: muted, no box.
    bool filled = true;  ///< False: outline only (inferred).
    bool operator==(const Chip&) const = default;
};

/// One chip a dimension: its axes, or "·". Whole tensors and layouts that no mesh explains get one
/// chip of words.
QList<Chip> layoutChips(const Analysis& analysis, const LayoutRef& layout, LayoutSource source,
                        const QPalette& palette);
/// The colour in which the canvas draws the axis, too.
QColor axisColour(int axis, const QPalette& palette);
/// Squares in the colours of the axes; an empty one for none.
QIcon axisIcon(const std::vector<int>& axes, const QPalette& palette, qreal ratio);

QSize chipsSize(const QList<Chip>& chips, const QFont& font);
void paintChips(QPainter* painter, const QRect& rect, const QList<Chip>& chips,
                const QPalette& palette, bool selected);

/// Draws QList<Chip> of role ChipsRole after the background of the item.
class ChipDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    static constexpr int ChipsRole = Qt::UserRole + 100;
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace shardwright

Q_DECLARE_METATYPE(QList<shardwright::Chip>)
