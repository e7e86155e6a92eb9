// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/flow_layout.h"

#include <QWidget>

#include <algorithm>

namespace shardwright {

FlowLayout::FlowLayout(QWidget* parent) : QLayout(parent) {
    setContentsMargins(0, 0, 0, 0);
    setSpacing(6);
}

FlowLayout::~FlowLayout() {
    qDeleteAll(m_items);
}

QLayoutItem* FlowLayout::takeAt(int index) {
    return index >= 0 && index < m_items.size() ? m_items.takeAt(index) : nullptr;
}

void FlowLayout::setGeometry(const QRect& rect) {
    QLayout::setGeometry(rect);
    place(rect, true);
}

QSize FlowLayout::sizeHint() const {
    QSize size;
    for (const QLayoutItem* item : m_items)
        if (!item->isEmpty())
            size = {size.width() + (size.width() > 0 ? spacing() : 0) + item->sizeHint().width(),
                    std::max(size.height(), item->sizeHint().height())};
    return size;
}

QSize FlowLayout::minimumSize() const {
    QSize size;
    for (const QLayoutItem* item : m_items)
        size = size.expandedTo(item->minimumSize());
    return size;
}

int FlowLayout::place(const QRect& rect, bool move) const {
    int x = rect.x(), y = rect.y();
    // A line is as high as its highest item, and all are centred in it.
    for (qsizetype begin = 0; begin < m_items.size();) {
        int height = 0;
        qsizetype end = begin;
        for (int width = 0; end < m_items.size(); ++end) {
            const QSize hint = m_items[end]->sizeHint();
            if (!m_items[end]->isEmpty()) {
                width += hint.width() + (width > 0 ? spacing() : 0);
                if (width > rect.width() && end > begin)
                    break;
                height = std::max(height, hint.height());
            }
        }
        for (; begin < end; ++begin) {
            if (m_items[begin]->isEmpty())
                continue;
            QSize hint = m_items[begin]->sizeHint();
            hint.setWidth(std::min(hint.width(), rect.width()));
            if (move)
                m_items[begin]->setGeometry(
                    QRect(QPoint(x, y + (height - hint.height()) / 2), hint));
            x += hint.width() + spacing();
        }
        x = rect.x();
        y += height + (end < m_items.size() ? spacing() : 0);
    }
    return y - rect.y();
}

}  // namespace shardwright
