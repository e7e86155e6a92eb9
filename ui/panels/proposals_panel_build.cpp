// SPDX-License-Identifier: Apache-2.0
// The proposals panel's widgets.
#include "ui/panels/detail_text.h"
#include "ui/panels/name_delegate.h"
#include "ui/panels/proposals_model.h"
#include "ui/panels/proposals_panel.h"
#include "ui/window/editor_session.h"
#include "ui/window/text.h"

#include <QBoxLayout>
#include <QComboBox>
#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QTreeView>

#include <algorithm>

namespace shardwright {
namespace {

constexpr int kSearchDelayMs = 120;

QString policyText(std::string_view name) {
    if (name == "report")
        return ProposalsPanel::tr("Where all agree");
    if (name == "paddle")
        return ProposalsPanel::tr("The first one wins (Paddle)");
    if (name == "shardy-basic")
        return ProposalsPanel::tr("Shardy, basic");
    if (name == "shardy-aggressive")
        return ProposalsPanel::tr("Shardy, aggressive");
    if (name == "onnx-0007")
        return ProposalsPanel::tr("Proposal 0007");
    return toQt(name);
}

}  // namespace

ProposalsPanel::ProposalsPanel(EditorSession* session, QWidget* parent)
    : QWidget(parent), m_session(session) {
    m_model = new ProposalsModel(this);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 8);
    column->setSpacing(6);
    column->addWidget(buildControls());
    column->addWidget(buildStatus());
    column->addWidget(buildTable(), 1);
    constexpr int kLines = 3;
    m_words = new DetailText(kLines, this);
    m_words->setObjectName(QStringLiteral("proposalWords"));
    column->addWidget(m_words);
    m_delay.setSingleShot(true);
    m_delay.setInterval(kSearchDelayMs);
    connect(&m_delay, &QTimer::timeout, this, &ProposalsPanel::search);
    connect(m_search, &QLineEdit::textChanged, &m_delay, qOverload<>(&QTimer::start));
    connect(m_view->selectionModel(), &QItemSelectionModel::selectionChanged, this,
            &ProposalsPanel::updateState);
    connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            &ProposalsPanel::showWords);
    // What was proposed may be of other annotations now.
    connect(m_session, &EditorSession::documentChanged, this, &ProposalsPanel::updateState);
    updateState();
}

QWidget* ProposalsPanel::buildControls() {
    auto* box = new QWidget(this);
    m_propose = new QPushButton(box);
    m_propose->setObjectName(QStringLiteral("propose"));
    m_propose->setToolTip(tr("Carries the axes of the annotations on to the other tensors"));
    connect(m_propose, &QPushButton::clicked, this, [this] {
        if (m_proposing || m_wanted)
            cancel();
        else
            propose();
    });
    m_policy = new QComboBox(box);
    m_policy->setObjectName(QStringLiteral("policy"));
    m_policy->setAccessibleName(tr("Policy"));
    m_policy->setToolTip(tr("What a tensor gets where others say different things"));
    const auto policies = propagationPolicies();
    for (std::size_t i = 0; i < policies.size(); ++i) {
        m_policy->addItem(policyText(policies[i].name), static_cast<int>(i));
        m_policy->setItemData(static_cast<int>(i), toolTipText(toQt(policies[i].about)),
                              Qt::ToolTipRole);
    }
    m_direction = new QComboBox(box);
    m_direction->setObjectName(QStringLiteral("direction"));
    m_direction->setAccessibleName(tr("Direction"));
    m_direction->setToolTip(tr("Which way axes are carried through the nodes"));
    const std::tuple<PropagationDirection, QString, QString> directions[] = {
        {PropagationDirection::Both, tr("Both ways"), tr("With the data and against it")},
        {PropagationDirection::Forward, tr("Forward"), tr("From inputs to outputs")},
        {PropagationDirection::Reverse, tr("Reverse"), tr("From outputs to inputs")}};
    for (const auto& [direction, text, words] : directions) {
        m_direction->addItem(text, static_cast<int>(direction));
        m_direction->setItemData(m_direction->count() - 1, words, Qt::ToolTipRole);
    }
    m_search = new QLineEdit(box);
    m_search->setObjectName(QStringLiteral("proposalSearch"));
    m_search->setAccessibleName(tr("Show only proposals of these nodes"));
    m_search->setPlaceholderText(tr("only nodes with…"));
    m_search->setToolTip(tr("Words as in Find: a name, an operator, a tensor"));
    m_search->setClearButtonEnabled(true);
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(m_propose);
    row->addWidget(m_policy);
    row->addWidget(m_direction);
    row->addWidget(m_search, 1);
    return box;
}

QWidget* ProposalsPanel::buildStatus() {
    auto* box = new QWidget(this);
    m_status = new QLabel(box);
    m_status->setTextFormat(Qt::PlainText);
    m_status->setWordWrap(true);
    m_progress = new QProgressBar(box);
    m_progress->setFixedSize(140, 8);
    m_progress->setTextVisible(false);
    m_progress->setRange(0, 0);
    const auto button = [&](const QString& name, const QString& text, const QString& toolTip,
                            void (ProposalsPanel::*action)()) {
        auto* made = new QPushButton(text, box);
        made->setObjectName(name);
        made->setToolTip(toolTip);
        connect(made, &QPushButton::clicked, this, action);
        return made;
    };
    m_acceptSelected = button(QStringLiteral("acceptSelected"), tr("Accept Selected"),
                              tr("The rows that are selected become annotations"),
                              &ProposalsPanel::acceptSelected);
    m_acceptAll =
        button(QStringLiteral("acceptAll"), tr("Accept All"),
               tr("All become annotations, also those that are not shown; that adds no errors"),
               &ProposalsPanel::acceptAll);
    m_dismiss =
        button(QStringLiteral("dismiss"), tr("Dismiss"),
               tr("Forgets the proposals; the model stays as it is"), &ProposalsPanel::dismiss);
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(m_status, 1);
    row->addWidget(m_progress);
    for (QPushButton* each : {m_acceptSelected, m_acceptAll, m_dismiss})
        row->addWidget(each);
    return box;
}

QWidget* ProposalsPanel::buildTable() {
    m_view = new QTreeView(this);
    m_view->setObjectName(QStringLiteral("proposals"));
    m_view->setAccessibleName(tr("Proposals"));
    m_view->setModel(m_model);
    m_view->setUniformRowHeights(true);
    m_view->setAllColumnsShowFocus(true);
    m_view->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_view->setExpandsOnDoubleClick(false);
    m_view->setItemDelegateForColumn(ProposalsModel::LayoutColumn, new ChipDelegate(m_view));
    for (const int column : {ProposalsModel::Node, ProposalsModel::Tensor})
        m_view->setItemDelegateForColumn(column, new NameDelegate(m_view, Qt::ElideLeft));
    m_view->header()->setStretchLastSection(false);
    m_view->header()->setSectionsMovable(false);
    m_view->viewport()->installEventFilter(this);
    connect(m_view, &QTreeView::activated, this, &ProposalsPanel::go);
    m_hint = new QLabel(this);
    m_hint->setTextFormat(Qt::PlainText);
    m_hint->setAlignment(Qt::AlignCenter);
    m_hint->setWordWrap(true);
    m_hint->setProperty("role", "muted");
    m_stack = new QStackedWidget(this);
    m_stack->addWidget(m_view);
    m_stack->addWidget(m_hint);
    return m_stack;
}

/// Names and sources share what the layout leaves.
void ProposalsPanel::shareWidth() {
    constexpr int kLayout = 130, kReshard = 110, kLeastNode = 200, kLeastTensor = 90,
                  kLeastFrom = 160;
    QHeaderView* header = m_view->header();
    header->resizeSection(ProposalsModel::LayoutColumn, kLayout);
    header->resizeSection(ProposalsModel::Reshard, kReshard);
    const int left = m_view->viewport()->width() - kLayout - kReshard;
    const int node = std::max(kLeastNode, left * 2 / 5), tensor = std::max(kLeastTensor, left / 4);
    header->resizeSection(ProposalsModel::Node, node);
    header->resizeSection(ProposalsModel::Tensor, tensor);
    header->resizeSection(ProposalsModel::From, std::max(kLeastFrom, left - node - tensor));
}

bool ProposalsPanel::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize)
        shareWidth();
    return QWidget::eventFilter(watched, event);
}

}  // namespace shardwright
