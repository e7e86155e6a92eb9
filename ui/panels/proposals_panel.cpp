// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/proposals_panel.h"

#include "ui/panels/detail_text.h"
#include "ui/panels/proposal_list.h"
#include "ui/panels/proposals_model.h"
#include "ui/window/editor_session.h"
#include "ui/window/text.h"
#include "ui/window/theme.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QTreeView>

#include <algorithm>

namespace shardwright {
namespace {

using Kind = JobTracker::Kind;

bool isAnnotated(const Analysis& analysis) {
    return std::ranges::any_of(analysis.annotations.nodes,
                               [](const auto& specs) { return specs && !specs->specs.empty(); });
}

}  // namespace

void ProposalsPanel::setAnalysis(std::shared_ptr<const Analysis> analysis) {
    const bool other =
        !analysis || (m_analysis && m_analysis->document.model != analysis->document.model);
    m_analysis = std::move(analysis);
    if (other) {
        cancel();
        m_said.clear();
        take(nullptr);
    }
    if (m_wanted && m_session->isAnalysisCurrent())
        begin();
    updateState();
}

bool ProposalsPanel::canPropose() const {
    return m_analysis && m_analysis->hasConfiguration && isAnnotated(*m_analysis);
}

void ProposalsPanel::propose() {
    if (!m_session->hasDocument())
        return;
    m_wanted = true;
    if (m_session->isAnalysisCurrent())
        begin();
    updateState();
}

void ProposalsPanel::begin() {
    m_wanted = false;
    m_said.clear();
    take(nullptr);
    if (!canPropose())
        return;
    m_proposing = true;
    m_configuration = m_session->options().configuration;
    PropagationOptions options;
    options.policy =
        propagationPolicies()[static_cast<std::size_t>(m_policy->currentData().toInt())];
    options.direction = static_cast<PropagationDirection>(m_direction->currentData().toInt());
    using Outcome = Result<std::shared_ptr<const ProposalList>>;
    m_session->jobs()->start<Outcome>(
        Kind::Proposals,
        [analysis = m_analysis, options](const CancelToken& token) {
            return makeProposalList(analysis, options, token);
        },
        [this](Outcome outcome) {
            m_proposing = false;
            if (outcome)
                take(*outcome);
            else
                m_said = toQt(outcome.error().text());
            updateState();
        });
}

void ProposalsPanel::cancel() {
    m_session->jobs()->cancel(Kind::Proposals);
    if (std::exchange(m_wanted, false) | std::exchange(m_proposing, false))
        m_said = tr("Cancelled.");
    updateState();
}

void ProposalsPanel::dismiss() {
    m_session->jobs()->cancel(Kind::Proposals);
    m_said.clear();
    take(nullptr);
    updateState();
}

void ProposalsPanel::take(std::shared_ptr<const ProposalList> list) {
    m_list = std::move(list);
    m_delay.stop();
    m_session->jobs()->cancel(Kind::ProposalSearch);
    m_model->show(m_list, {});
    if (m_list)
        search();
}

void ProposalsPanel::search() {
    m_delay.stop();
    if (!m_list)
        return;
    const std::string query = fromQt(m_search->text().trimmed());
    if (query.empty()) {
        m_session->jobs()->cancel(Kind::ProposalSearch);
        m_model->show(m_list, m_list->groups);
        updateState();
        return;
    }
    m_session->jobs()->start<std::vector<ProposalGroup>>(
        Kind::ProposalSearch,
        [list = m_list, query](const CancelToken& token) {
            return searchedGroups(*list, query, token);
        },
        [this, list = m_list](std::vector<ProposalGroup> groups) {
            if (list != m_list)
                return;
            m_model->show(m_list, std::move(groups));
            updateState();
        });
}

bool ProposalsPanel::isBusy() const {
    const JobTracker* jobs = m_session->jobs();
    return m_wanted || m_delay.isActive() || jobs->isRunning(Kind::Proposals) ||
           jobs->isRunning(Kind::ProposalSearch);
}

bool ProposalsPanel::isCurrent() const {
    if (!m_list || !m_session->hasDocument())
        return false;
    const Analysis& of = *m_list->analysis;
    const Document& now = m_session->document();
    const AnalysisOptions& options = m_session->options();
    // No name chosen is the same choice as long as the annotations are the same.
    const bool sameConfiguration =
        options.configuration == m_configuration || options.configuration == of.configuration.name;
    return now.model == of.document.model && sameConfiguration &&
           options.profile == of.options.profile && options.bindings == of.options.bindings &&
           options.registry == of.options.registry &&
           now.annotations.sameAs(of.document.annotations);
}

void ProposalsPanel::accept(const Edit& edit) {
    if (!isCurrent())
        return;
    // What is left is other proposals: some of them may follow from what was accepted only.
    m_wanted = true;
    m_session->push(edit);
    if (m_session->isAnalysisCurrent())
        begin();
    updateState();
}

void ProposalsPanel::acceptAll() {
    if (m_list)
        accept(Edit(m_list->proposals.acceptAll));
}

void ProposalsPanel::acceptSelected() {
    if (!isCurrent() || m_proposing)
        return;
    std::vector<std::size_t> chosen;
    for (const QModelIndex& index : m_view->selectionModel()->selectedRows())
        for (const std::uint32_t i : m_model->proposalsAt(index))
            chosen.push_back(i);
    // A group may be selected together with some of its members.
    std::ranges::sort(chosen);
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    if (chosen.empty())
        return;
    m_session->jobs()->start<Edit>(
        Kind::Proposals,
        [list = m_list, chosen = std::move(chosen)](const CancelToken&) {
            return acceptProposals(*list->analysis, list->proposals, chosen);
        },
        [this, list = m_list](const Edit& edit) {
            if (list == m_list)
                accept(edit);
        });
}

void ProposalsPanel::go(const QModelIndex& index) {
    if (!m_list)
        return;
    QList<NodeId> nodes;
    for (const std::uint32_t i : m_model->proposalsAt(index))
        nodes << m_list->proposals.proposals[i].slot.node;
    // The canvas takes the last one for the current one.
    std::ranges::reverse(nodes);
    if (!nodes.isEmpty())
        emit nodesWanted(nodes);
}

/// The way of each axis of the current row in full; the column has room for its beginning only.
void ProposalsPanel::showWords() {
    QStringList words;
    const ProposalGroup rows = m_model->proposalsAt(m_view->currentIndex());
    if (m_list && !rows.empty())
        for (const ProposalSource& source : m_list->proposals.proposals[rows.front()].sources)
            if (const QString text = toQt(source.words); !words.contains(text))
                words << text;
    m_words->setText(words.join(u'\n'));
}

QString ProposalsPanel::statusText() const {
    return m_stack->currentWidget() == m_hint ? m_hint->text() : m_status->text();
}

/// What stands in place of the table; empty: there is one.
QString ProposalsPanel::hint() const {
    if (!m_session->hasDocument())
        return tr("Open a model to propose layouts for it.");
    if (m_proposing || m_wanted)
        return tr("Proposing…");
    if (!m_said.isEmpty())
        return m_said;
    if (m_list && !m_list->proposals.proposals.empty())
        return m_model->shownCount() > 0 || isBusy() ? QString()
                                                     : tr("Nothing proposed has this in its node.");
    if (m_list && isCurrent())
        return m_list->proposals.conflicts.empty() && m_list->proposals.left.empty()
                   ? tr("Nothing to propose: everything that follows already lies so.")
                   : tr("Nothing to propose.");
    if (!m_analysis)
        return tr("Checking…");
    if (!m_analysis->hasConfiguration)
        return tr("The model has no device configuration yet: add a mesh first.");
    if (!isAnnotated(*m_analysis))
        return tr("Nothing is annotated yet. Set the layouts of a few tensors in the inspector; "
                  "others can be proposed from them.");
    return tr("Propose Layouts shows what follows from the annotations.");
}

QString ProposalsPanel::summary() const {
    if (!m_list || m_list->proposals.proposals.empty())
        return {};
    const Proposals& proposals = m_list->proposals;
    const auto count = proposals.proposals.size();
    QString text = count == 1 ? tr("1 layout") : tr("%1 layouts").arg(count);
    if (m_model->shownCount() < count)
        text += tr(" (%1 shown)").arg(m_model->shownCount());
    if (const auto conflicts = proposals.conflicts.size())
        text += conflicts == 1 ? tr(" · 1 conflict") : tr(" · %1 conflicts").arg(conflicts);
    if (const auto left = proposals.left.size())
        text += left == 1 ? tr(" · nothing fits at 1 node")
                          : tr(" · nothing fits at %1 nodes").arg(left);
    if (!isCurrent())
        text += tr(" · of other annotations than now: propose again");
    return text;
}

void ProposalsPanel::updateState() {
    const bool working = m_proposing || m_wanted;
    const QString instead = hint();
    const bool any = instead.isEmpty();
    m_hint->setText(instead);
    m_stack->setCurrentIndex(any ? 0 : 1);
    m_status->setText(summary());
    m_propose->setText(working  ? tr("Cancel")
                       : m_list ? tr("Propose Again")
                                : tr("Propose Layouts"));
    m_propose->setIcon(working ? themedIcon(QStringLiteral("stop")) : QIcon());
    m_propose->setEnabled(working || canPropose());
    m_progress->setVisible(working);
    const bool known = m_list && !m_list->proposals.proposals.empty() && !working;
    const bool current = known && isCurrent();
    m_acceptSelected->setEnabled(current && any && m_view->selectionModel()->hasSelection());
    m_acceptAll->setEnabled(current);
    m_dismiss->setEnabled(m_list || !m_said.isEmpty());
    m_search->setEnabled(known);
    showWords();
}

}  // namespace shardwright
