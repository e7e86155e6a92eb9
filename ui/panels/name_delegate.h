// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStyledItemDelegate>

namespace shardwright {

/// Elides names, in the middle unless told otherwise: names of exporters differ at their ends.
class NameDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    explicit NameDelegate(QObject* parent = nullptr, Qt::TextElideMode mode = Qt::ElideMiddle)
        : QStyledItemDelegate(parent), m_mode(mode) {}
    /// For lists, which would rather scroll sideways than elide.
    void setNarrow() { m_narrow = true; }
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const QSize size = QStyledItemDelegate::sizeHint(option, index);
        return m_narrow ? QSize(0, size.height()) : size;
    }

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        option->textElideMode = m_mode;
    }

private:
    Qt::TextElideMode m_mode;
    bool m_narrow = false;
};

}  // namespace shardwright
