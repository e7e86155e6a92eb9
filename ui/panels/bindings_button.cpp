// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/bindings_button.h"

#include "ui/window/editor_session.h"
#include "ui/window/text.h"

#include <QFormLayout>
#include <QFrame>
#include <QLabel>
#include <QScrollArea>
#include <QSpinBox>

namespace shardwright {
namespace {

constexpr int kMostShown = 3;
constexpr int kLargestSize = 1 << 24;

}  // namespace

BindingsButton::BindingsButton(EditorSession* session, QWidget* parent)
    : QToolButton(parent), m_session(session) {
    setToolButtonStyle(Qt::ToolButtonTextOnly);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Sizes of symbolic dimensions"));
    setToolTip(tr("Sizes assumed for symbolic dimensions; click to change them"));
    connect(this, &QToolButton::clicked, this, &BindingsButton::openPopup);
    setAnalysis(nullptr);
}

void BindingsButton::setAnalysis(std::shared_ptr<const Analysis> analysis) {
    m_analysis = std::move(analysis);
    QStringList parts;
    if (m_analysis) {
        const auto& used = m_analysis->shapes->usedBindings();
        for (const auto& [symbol, size] : used) {
            if (parts.size() == kMostShown) {
                parts << tr("%1 more").arg(static_cast<int>(used.size()) - kMostShown);
                break;
            }
            parts << QStringLiteral("%1 = %2").arg(oneLine(symbol, 20)).arg(size);
        }
    }
    setText(menuText(parts.join(QStringLiteral(", "))));
    setVisible(!parts.isEmpty());
}

void BindingsButton::openPopup() {
    if (!m_analysis || m_popup)
        return;
    m_popup = new QFrame(this, Qt::Popup);
    m_popup->setAttribute(Qt::WA_DeleteOnClose);
    m_popup->setFrameShape(QFrame::StyledPanel);
    auto* content = new QWidget;
    auto* form = new QFormLayout(content);
    auto* title = new QLabel(tr("Sizes of symbolic dimensions"), content);
    title->setProperty("role", "heading");
    title->setIndent(0);
    form->addRow(title);
    for (const auto& [symbol, size] : m_analysis->shapes->usedBindings()) {
        auto* spin = new QSpinBox(content);
        spin->setRange(1, kLargestSize);
        spin->setKeyboardTracking(false);
        spin->setValue(static_cast<int>(std::min<std::int64_t>(size, kLargestSize)));
        connect(spin, &QSpinBox::valueChanged, this,
                [this, symbol = symbol](int value) { bind(symbol, value); });
        auto* label = new QLabel(oneLine(symbol, 40), content);
        label->setTextFormat(Qt::PlainText);
        label->setToolTip(toolTipText(toQt(symbol)));
        label->setBuddy(spin);
        form->addRow(label, spin);
    }
    auto* column = new QVBoxLayout(m_popup);
    constexpr int kManyRows = 12;
    if (form->rowCount() > kManyRows) {
        auto* scroll = new QScrollArea(m_popup);
        scroll->setWidgetResizable(true);
        scroll->setWidget(content);
        scroll->setMinimumSize(content->sizeHint().width() + 30, 400);
        column->addWidget(scroll);
    } else {
        column->addWidget(content);
    }
    m_popup->adjustSize();
    m_popup->move(mapToGlobal(QPoint(0, height() + 2)));
    m_popup->show();
    if (auto* first = content->findChild<QSpinBox*>())
        first->setFocus();
}

void BindingsButton::bind(const std::string& symbol, std::int64_t size) {
    Bindings bindings = m_session->options().bindings;
    bindings.sizes[symbol] = size;
    m_session->setBindings(bindings);
}

}  // namespace shardwright
