// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/elided_button.h"

#include "ui/window/text.h"

#include <QStyleOptionButton>
#include <QStylePainter>

namespace shardwright {
namespace {

constexpr int kTextLimit = 160;
constexpr int kMinimum = 80;

}  // namespace

ElidedButton::ElidedButton(const QString& text, QWidget* parent)
    : QPushButton(menuText(oneLine(text, kTextLimit)), parent), m_text(oneLine(text, kTextLimit)) {
    setToolTip(toolTipText(text));
    setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
}

QSize ElidedButton::minimumSizeHint() const {
    const QSize whole = QPushButton::minimumSizeHint();
    return {std::min(kMinimum, whole.width()), whole.height()};
}

void ElidedButton::paintEvent(QPaintEvent*) {
    QStyleOptionButton option;
    initStyleOption(&option);
    const int frame = QPushButton::sizeHint().width() - fontMetrics().horizontalAdvance(m_text);
    option.text = menuText(fontMetrics().elidedText(m_text, Qt::ElideRight, width() - frame));
    QStylePainter(this).drawControl(QStyle::CE_PushButton, option);
}

}  // namespace shardwright
