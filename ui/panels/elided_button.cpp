// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/elided_button.h"

#include "ui/window/text.h"

#include <QStyleOptionButton>
#include <QStylePainter>

namespace shardwright {
namespace {

constexpr int kTextLimit = 400;
constexpr int kMinimum = 80;

/// Where the brackets at the end begin, with the space before them; -1: there are none.
qsizetype bracketOf(const QString& text) {
    return text.endsWith(u')') ? text.lastIndexOf(QStringLiteral(" (")) : -1;
}

/// Nobody reads longer ones; the price stays.
QString shortened(const QString& text) {
    const auto bracket = bracketOf(text);
    return bracket < kTextLimit
               ? oneLine(text, kTextLimit)
               : oneLine(text.left(bracket), kTextLimit) + text.mid(bracket).left(40);
}

}  // namespace

QString elidedBeforeBrackets(const QFontMetrics& metrics, const QString& text, int width) {
    if (metrics.horizontalAdvance(text) <= width)
        return text;
    const auto bracket = bracketOf(text);
    if (bracket <= 0)
        return metrics.elidedText(text, Qt::ElideMiddle, width);
    const QString tail = text.mid(bracket);
    const int room = width - metrics.horizontalAdvance(tail);
    constexpr int kLeastCharacters = 4;
    if (room < metrics.averageCharWidth() * kLeastCharacters)
        return metrics.elidedText(text, Qt::ElideMiddle, width);
    return metrics.elidedText(text.left(bracket), Qt::ElideMiddle, room) + tail;
}

ElidedButton::ElidedButton(const QString& text, QWidget* parent)
    : QPushButton(parent), m_text(shortened(text)) {
    setText(menuText(m_text));
    setToolTip(toolTipText(text));
    setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
}

QSize ElidedButton::minimumSizeHint() const {
    const QSize whole = QPushButton::minimumSizeHint();
    return {std::min(kMinimum, whole.width()), whole.height()};
}

QString ElidedButton::shownText() const {
    const int frame = QPushButton::sizeHint().width() - fontMetrics().horizontalAdvance(m_text);
    return elidedBeforeBrackets(fontMetrics(), m_text, width() - frame);
}

void ElidedButton::paintEvent(QPaintEvent*) {
    QStyleOptionButton option;
    initStyleOption(&option);
    option.text = menuText(shownText());
    QStylePainter(this).drawControl(QStyle::CE_PushButton, option);
}

}  // namespace shardwright
