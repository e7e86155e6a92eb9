// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/node_problems.h"

#include "ui/panels/diagnostics_model.h"
#include "ui/panels/elided_button.h"
#include "ui/window/editor_session.h"
#include "ui/window/text.h"

#include <QBoxLayout>
#include <QFrame>
#include <QLabel>

namespace shardwright {
namespace {

constexpr int kMostCards = 5;

}  // namespace

void applyWhenCurrent(EditorSession* session, const Fix& fix) {
    if (session->isAnalysisCurrent())
        session->push(fix.edit, toQt(fix.title));
}

NodeProblems::NodeProblems(EditorSession* session, QWidget* parent)
    : QWidget(parent), m_session(session) {
    m_column = new QVBoxLayout(this);
    m_column->setContentsMargins(0, 0, 0, 0);
}

void NodeProblems::show(std::shared_ptr<const Analysis> analysis, NodeId node) {
    if (m_cards) {
        // A button of it may be what began this.
        m_cards->hide();
        m_cards->deleteLater();
        m_cards = nullptr;
    }
    std::vector<const Diagnostic*> own;
    if (analysis && node)
        for (const Diagnostic& diagnostic : analysis->diagnostics)
            if (diagnostic.node == node && diagnostic.severity != Severity::Communication)
                own.push_back(&diagnostic);
    setVisible(!own.empty());
    if (own.empty())
        return;
    m_cards = new QWidget(this);
    auto* column = new QVBoxLayout(m_cards);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(6);
    for (std::size_t i = 0; i < own.size() && i < kMostCards; ++i)
        column->addWidget(card(*own[i]));
    if (own.size() > kMostCards)
        column->addWidget(new QLabel(tr("%n more in the list of diagnostics", nullptr,
                                        static_cast<int>(own.size()) - kMostCards)));
    m_column->addWidget(m_cards);
}

QWidget* NodeProblems::card(const Diagnostic& diagnostic) {
    auto* frame = new QFrame(m_cards);
    frame->setObjectName(QStringLiteral("problemCard"));
    const QColor colour = severityColour(diagnostic.severity, palette());
    frame->setStyleSheet(
        QStringLiteral("#problemCard { border: none; border-left: 3px solid %1; background: %2; }")
            .arg(colour.name(), palette().color(QPalette::AlternateBase).name()));
    auto* column = new QVBoxLayout(frame);
    column->setContentsMargins(9, 6, 8, 6);
    auto* text = new QLabel(
        toQt(diagnostic.code) + QStringLiteral("  ") + toQt(diagnostic.message).left(2000), frame);
    text->setTextFormat(Qt::PlainText);
    text->setWordWrap(true);
    text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    column->addWidget(text);
    for (const Fix& fix : diagnostic.fixes) {
        auto* button = new ElidedButton(toQt(fix.title), frame);
        connect(button, &QPushButton::clicked, this,
                [this, fix] { applyWhenCurrent(m_session, fix); });
        column->addWidget(button);
    }
    return frame;
}

}  // namespace shardwright
