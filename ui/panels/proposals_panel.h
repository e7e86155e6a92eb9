// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <QList>
#include <QTimer>
#include <QWidget>

#include <memory>
#include <string>

class QComboBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QStackedWidget;
class QTreeView;

namespace shardwright {

class DetailText;
class EditorSession;
class ProposalsModel;
struct ProposalList;

/// What propagation proposes for the tensors that nobody has annotated. The person accepts all,
/// some or none; what is accepted becomes annotations, in one step to undo. Nothing is accepted
/// once the annotations are others than those it was proposed for: an edit replaces the whole
/// annotation of a node, and would take back what has been done since.
class ProposalsPanel : public QWidget {
    Q_OBJECT

public:
    explicit ProposalsPanel(EditorSession* session, QWidget* parent = nullptr);

    void setAnalysis(std::shared_ptr<const Analysis> analysis);
    /// Begins to propose; what is shown meanwhile goes. Waits for the check of the newest edit.
    void propose();
    void cancel();
    void acceptSelected();
    void acceptAll();
    /// Forgets the proposals.
    void dismiss();
    /// Proposing, searching or accepting.
    bool isBusy() const;
    bool isProposing() const { return m_proposing; }
    /// Whether there are proposals, and they are of the document as it is.
    bool isCurrent() const;
    std::shared_ptr<const ProposalList> list() const { return m_list; }
    /// What is said beside or instead of the table.
    QString statusText() const;
    QTreeView* view() const { return m_view; }

signals:
    void nodesWanted(const QList<shardwright::NodeId>& nodes);

private:
    QWidget* buildControls();
    QWidget* buildStatus();
    QWidget* buildTable();
    void begin();
    void take(std::shared_ptr<const ProposalList> list);
    void accept(const Edit& edit);
    void search();
    void go(const QModelIndex& index);
    void shareWidth();
    bool canPropose() const;
    QString hint() const;
    QString summary() const;
    void showWords();
    void updateState();
    bool eventFilter(QObject* watched, QEvent* event) override;

    EditorSession* m_session;
    std::shared_ptr<const Analysis> m_analysis;
    std::shared_ptr<const ProposalList> m_list;
    ProposalsModel* m_model;
    bool m_proposing = false;
    bool m_wanted = false;        ///< Begins when the check of the newest edit is there.
    QString m_said;               ///< Why there are none.
    std::string m_configuration;  ///< That was chosen for the list; empty: none by name.
    QTimer m_delay;

    QPushButton *m_propose, *m_acceptSelected, *m_acceptAll, *m_dismiss;
    QComboBox *m_policy, *m_direction;
    QLineEdit* m_search;
    QProgressBar* m_progress;
    QLabel *m_status, *m_hint;
    DetailText* m_words;
    QTreeView* m_view;
    QStackedWidget* m_stack;
};

}  // namespace shardwright
