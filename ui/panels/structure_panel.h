// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <QList>
#include <QSet>
#include <QTimer>
#include <QWidget>

#include <memory>

class QLabel;
class QLineEdit;
class QListView;
class QStackedWidget;
class QToolButton;
class QTreeView;

namespace shardwright {

class EditorSession;
class FoundModel;
class StructureModel;

/// The tree of scopes and nodes; with a search, the nodes that match it.
class StructurePanel : public QWidget {
    Q_OBJECT

public:
    explicit StructurePanel(EditorSession* session, QWidget* parent = nullptr);

    void setModel(std::shared_ptr<const Model> model);
    void setAnalysis(std::shared_ptr<const Analysis> analysis);
    /// Shows the node in the tree, without telling anybody.
    void showNodes(const QList<NodeId>& nodes);
    void showScope(ScopeId scope);
    QLineEdit* searchField() const { return m_search; }
    QList<NodeId> found() const;

public slots:
    void startSearch();
    void next() { step(1); }
    void previous() { step(-1); }

signals:
    void nodesWanted(const QList<shardwright::NodeId>& nodes);
    void nodeWanted(shardwright::NodeId node);
    void scopeWanted(shardwright::ScopeId scope);
    /// What matches the search changed; empty without a search.
    void highlightChanged(const QSet<shardwright::NodeId>& nodes);

private:
    QWidget* buildSearch();
    void openOnlyChildren();
    void search();
    void showFound(std::vector<NodeId> nodes);
    void step(int direction);
    void updateCount();
    bool eventFilter(QObject* object, QEvent* event) override;

    EditorSession* m_session;
    std::shared_ptr<const Analysis> m_analysis;
    StructureModel* m_model;
    FoundModel* m_found;
    QLineEdit* m_search;
    QWidget* m_searchBar;
    QToolButton *m_previous, *m_next, *m_selectAll;
    QLabel* m_count;
    QStackedWidget* m_stack;
    QTreeView* m_tree;
    QListView* m_list;
    QTimer m_delay;
    bool m_showing = false;
};

}  // namespace shardwright
