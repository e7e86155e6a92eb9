// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStyledItemDelegate>
#include <QWidget>

namespace shardwright {

/// Of 0 computing, 1 communicating, 2 waiting.
QColor timingColour(int part, const QPalette& palette);

/// A bar of computing, communicating and waiting, and its total behind it.
class TimingBarDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

/// What the colours mean.
class TimingLegend : public QWidget {
    Q_OBJECT

public:
    explicit TimingLegend(QWidget* parent = nullptr);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {0, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;
};

}  // namespace shardwright
