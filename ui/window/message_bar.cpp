// SPDX-License-Identifier: Apache-2.0
#include "ui/window/message_bar.h"

#include "ui/panels/diagnostics_model.h"
#include "ui/window/text.h"
#include "ui/window/theme.h"

#include <QApplication>
#include <QBoxLayout>
#include <QEvent>
#include <QIcon>
#include <QLabel>
#include <QPushButton>
#include <QTimer>
#include <QToolButton>

namespace shardwright {
namespace {

constexpr int kInformationMs = 6000;

Severity severityOf(MessageBar::Kind kind) {
    return kind == MessageBar::Kind::Error     ? Severity::Error
           : kind == MessageBar::Kind::Warning ? Severity::Warning
                                               : Severity::Info;
}

}  // namespace

MessageBar::MessageBar(QWidget* parent) : QFrame(parent) {
    setObjectName(QStringLiteral("messageBar"));
    m_icon = new QLabel(this);
    m_text = new QLabel(this);
    m_text->setTextFormat(Qt::PlainText);
    m_text->setWordWrap(true);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_buttons = new QHBoxLayout;
    auto* close = new QToolButton(this);
    close->setIcon(themedIcon(QStringLiteral("close")));
    close->setAutoRaise(true);
    close->setToolTip(tr("Dismiss"));
    close->setAccessibleName(tr("Dismiss"));
    close->setFocusPolicy(Qt::StrongFocus);
    connect(close, &QToolButton::clicked, this, &MessageBar::dismiss);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 6, 8, 6);
    row->setSpacing(8);
    row->addWidget(m_icon);
    row->addWidget(m_text, 1);
    row->addLayout(m_buttons);
    row->addWidget(close);
    m_timer = new QTimer(this);
    m_timer->setSingleShot(true);
    m_timer->setInterval(kInformationMs);
    connect(m_timer, &QTimer::timeout, this, &MessageBar::dismiss);
    hide();
}

void MessageBar::show(Kind kind, const QString& text, const Actions& actions) {
    m_kind = kind;
    m_text->setText(text.left(2000));
    while (QLayoutItem* item = m_buttons->takeAt(0)) {
        // The button may be what called us.
        item->widget()->hide();
        item->widget()->deleteLater();
        delete item;
    }
    for (const auto& [title, act] : actions) {
        auto* button = new QPushButton(title, this);
        connect(button, &QPushButton::clicked, this, [this, act = act] {
            dismiss();
            act();
        });
        m_buttons->addWidget(button);
    }
    colour();
    QFrame::show();
    if (kind == Kind::Information && actions.isEmpty())
        m_timer->start();
    else
        m_timer->stop();
}

QString MessageBar::text() const {
    return m_text->text();
}

void MessageBar::dismiss() {
    m_timer->stop();
    hide();
}

void MessageBar::colour() {
    // The program's palette: the bar's own has what the sheet below put there.
    const QPalette colours = QApplication::palette();
    const QColor colour = severityColour(severityOf(m_kind), colours);
    QColor background = colours.color(QPalette::Base);
    constexpr double kTint = 0.12;
    background = QColor::fromRgbF(
        static_cast<float>(background.redF() * (1 - kTint) + colour.redF() * kTint),
        static_cast<float>(background.greenF() * (1 - kTint) + colour.greenF() * kTint),
        static_cast<float>(background.blueF() * (1 - kTint) + colour.blueF() * kTint));
    m_icon->setPixmap(severityIcon(severityOf(m_kind), colours).pixmap(14));
    const QString sheet =
        QStringLiteral("#messageBar { background: %1; border: none; border-left: 4px solid %2; }")
            .arg(background.name(), colour.name());
    // Setting it changes the palette, of which changeEvent() hears.
    if (sheet != styleSheet())
        setStyleSheet(sheet);
}

void MessageBar::changeEvent(QEvent* event) {
    QFrame::changeEvent(event);
    // Setting the sheet is itself a change of style.
    if (event->type() == QEvent::PaletteChange && isVisible())
        colour();
}

}  // namespace shardwright
