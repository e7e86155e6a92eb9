// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFocusEvent>
#include <QLabel>

namespace shardwright {

/// A text with links that the keyboard reaches: Tab goes from one to the next, Enter follows it.
class LinkLabel : public QLabel {
public:
    explicit LinkLabel(QWidget* parent = nullptr) : QLabel(parent) {
        setTextFormat(Qt::RichText);
        setWordWrap(true);
        setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
    }

protected:
    void focusInEvent(QFocusEvent* event) override {
        QLabel::focusInEvent(event);
        // A QLabel that gets the keyboard has no link under it yet, so that Enter does nothing.
        if (event->reason() != Qt::MouseFocusReason && !hasSelectedText())
            focusNextPrevChild(event->reason() != Qt::BacktabFocusReason);
    }
};

}  // namespace shardwright
