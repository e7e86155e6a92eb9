// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/diagnostics_panel.h"

#include "ui/panels/diagnostics_model.h"
#include "ui/panels/elided_button.h"
#include "ui/panels/name_delegate.h"
#include "ui/panels/node_problems.h"
#include "ui/window/editor_session.h"
#include "ui/window/text.h"

#include <QBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QToolButton>
#include <QTreeView>

namespace shardwright {
namespace {

constexpr Severity kSeverities[] = {Severity::Error, Severity::Warning, Severity::Unsupported,
                                    Severity::Communication, Severity::Info};

}  // namespace

DiagnosticsPanel::DiagnosticsPanel(EditorSession* session, QWidget* parent)
    : QWidget(parent), m_session(session) {
    m_model = new DiagnosticsModel(this);
    m_filter = new DiagnosticsFilter(this);
    m_filter->setSourceModel(m_model);
    m_filter->setSortRole(DiagnosticsModel::SortRole);
    m_view = new QTreeView(this);
    m_view->setObjectName(QStringLiteral("diagnostics"));
    m_view->setAccessibleName(tr("Diagnostics"));
    m_view->setModel(m_filter);
    m_view->setRootIsDecorated(false);
    m_view->setUniformRowHeights(true);
    m_view->setAllColumnsShowFocus(true);
    m_view->setSortingEnabled(true);
    m_view->header()->setSortIndicator(-1, Qt::AscendingOrder);
    m_view->setItemDelegateForColumn(DiagnosticsModel::Node,
                                     new NameDelegate(m_view, Qt::ElideLeft));
    m_view->setContextMenuPolicy(Qt::CustomContextMenu);
    m_view->header()->resizeSection(DiagnosticsModel::Code, 90);
    m_view->header()->resizeSection(DiagnosticsModel::Node, 180);
    connect(m_view, &QTreeView::activated, this, [this] {
        if (const Diagnostic* diagnostic = current(); diagnostic && diagnostic->node)
            emit nodeWanted(diagnostic->node);
    });
    connect(m_view, &QTreeView::customContextMenuRequested, this, &DiagnosticsPanel::showMenu);
    connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            &DiagnosticsPanel::currentChanged);

    m_empty = new QLabel(tr("Open a model to check it."), this);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setProperty("role", "muted");
    m_message = new QLabel(this);
    m_message->setTextFormat(Qt::PlainText);
    m_message->setWordWrap(true);
    m_message->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_detail = new QWidget(this);
    m_detailLayout = new QVBoxLayout(m_detail);
    m_detailLayout->setContentsMargins(2, 4, 2, 0);
    m_detailLayout->addWidget(m_message);

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 8);
    column->setSpacing(6);
    column->addWidget(buildFilters());
    column->addWidget(m_view, 1);
    column->addWidget(m_empty, 1);
    column->addWidget(m_detail);
    setAnalysis(nullptr);
}

QWidget* DiagnosticsPanel::buildFilters() {
    auto* row = new QWidget(this);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    for (const Severity severity : kSeverities) {
        auto* button = new QToolButton(row);
        button->setCheckable(true);
        // What is communicated has a list of its own.
        button->setChecked(severity != Severity::Communication);
        button->setAutoRaise(true);
        button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        button->setFocusPolicy(Qt::StrongFocus);
        connect(button, &QToolButton::toggled, this, [this, severity](bool shown) {
            m_filter->setShown(severity, shown);
            updateEmpty();
        });
        m_filter->setShown(severity, button->isChecked());
        button->setProperty("role", "filter");
        layout->addWidget(button);
        m_buttons[static_cast<int>(severity)] = button;
    }
    layout->addStretch(1);
    return row;
}

void DiagnosticsPanel::setAnalysis(std::shared_ptr<const Analysis> analysis) {
    const QModelIndex before = m_view->currentIndex();
    const int row = before.isValid() ? before.row() : -1;
    m_analysis = std::move(analysis);
    m_model->setAnalysis(m_analysis);
    for (const Severity severity : kSeverities) {
        const int count = m_analysis ? m_analysis->count(severity) : 0;
        QToolButton* button = m_buttons[static_cast<int>(severity)];
        button->setText(QStringLiteral("%1 %2").arg(count).arg(severityText(severity, count)));
        button->setIcon(severityIcon(severity, palette()));
        button->setVisible(count > 0);
    }
    updateEmpty();
    if (row >= 0 && m_filter->rowCount() > 0)
        m_view->setCurrentIndex(m_filter->index(std::min(row, m_filter->rowCount() - 1), 0));
    currentChanged();
}

void DiagnosticsPanel::updateEmpty() {
    const bool any = m_filter->rowCount() > 0;
    m_view->setVisible(any);
    m_empty->setVisible(!any);
    // What is communicated is no problem, and is hidden until asked for.
    const bool problems =
        m_analysis && m_model->rowCount() > m_analysis->count(Severity::Communication);
    m_empty->setText(!m_analysis ? tr("Open a model to check it.")
                     : problems  ? tr("Nothing of the kinds chosen above.")
                                 : tr("No problems found."));
}

const Diagnostic* DiagnosticsPanel::current() const {
    const QModelIndex index = m_filter->mapToSource(m_view->currentIndex());
    return index.isValid() ? m_model->diagnostic(index.row()) : nullptr;
}

void DiagnosticsPanel::currentChanged() {
    if (m_fixes) {
        m_fixes->hide();
        m_fixes->deleteLater();
        m_fixes = nullptr;
    }
    const Diagnostic* diagnostic = current();
    m_detail->setVisible(diagnostic);
    if (!diagnostic)
        return;
    m_message->setText(toQt(diagnostic->message).left(4000));
    if (diagnostic->fixes.empty())
        return;
    m_fixes = new QWidget(m_detail);
    auto* row = new QHBoxLayout(m_fixes);
    row->setContentsMargins(0, 0, 0, 0);
    for (const Fix& fix : diagnostic->fixes) {
        auto* button = new ElidedButton(toQt(fix.title), m_fixes);
        connect(button, &QPushButton::clicked, this, [this, fix] { applyFix(fix); });
        row->addWidget(button);
    }
    row->addStretch(1);
    m_detailLayout->addWidget(m_fixes);
}

void DiagnosticsPanel::applyFix(const Fix& fix) {
    applyWhenCurrent(m_session, fix);
}

void DiagnosticsPanel::showMenu(const QPoint& position) {
    const Diagnostic* diagnostic = current();
    if (!diagnostic)
        return;
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (diagnostic->node)
        connect(menu->addAction(tr("Go to node")), &QAction::triggered, this,
                [this, node = diagnostic->node] { emit nodeWanted(node); });
    for (const Fix& fix : diagnostic->fixes)
        connect(menu->addAction(menuText(oneLine(fix.title, 100))), &QAction::triggered, this,
                [this, fix] { applyFix(fix); });
    menu->popup(m_view->viewport()->mapToGlobal(position));
}

}  // namespace shardwright
