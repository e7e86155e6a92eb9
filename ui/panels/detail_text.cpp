// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/detail_text.h"

#include <QEvent>
#include <QLabel>

namespace shardwright {

DetailText::DetailText(int lines, QWidget* parent) : QScrollArea(parent), m_lines(lines) {
    m_label = new QLabel;
    m_label->setTextFormat(Qt::PlainText);
    m_label->setWordWrap(true);
    m_label->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    setWidget(m_label);
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::NoFocus);
    fitHeight();
    hide();
}

void DetailText::setText(const QString& text) {
    constexpr int kMost = 4000;
    m_label->setText(text.left(kMost));
    setVisible(!text.isEmpty());
}

QString DetailText::text() const {
    return m_label->text();
}

void DetailText::fitHeight() {
    setFixedHeight(fontMetrics().lineSpacing() * m_lines + 2);
}

void DetailText::changeEvent(QEvent* event) {
    QScrollArea::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        fitHeight();
}

}  // namespace shardwright
