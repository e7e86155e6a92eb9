// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/panels/scope_facts.h"

#include <QList>
#include <QWidget>

#include <memory>

class QFormLayout;
class QLabel;
class QPushButton;
class QTreeWidget;

namespace shardwright {

class EditorSession;
class ElidedLabel;
class StageBox;

/// The inspector of a scope: what is in it, what it communicates, and changes to all its nodes.
class ScopeView : public QWidget {
    Q_OBJECT

public:
    explicit ScopeView(EditorSession* session, QWidget* parent = nullptr);

    void show(std::shared_ptr<const Analysis> analysis, ScopeId scope);
    const ScopeFacts& facts() const { return m_facts; }

signals:
    void nodesWanted(const QList<shardwright::NodeId>& nodes);

private:
    QLabel* addFact(QFormLayout* form, const QString& name);
    void refresh();
    void refreshFacts();
    void refreshOperators();
    void selectOperator(int row);
    void stageChosen(int stage);
    void clearAnnotations();

    EditorSession* m_session;
    std::shared_ptr<const Analysis> m_analysis;
    ScopeId m_scope;
    ScopeFacts m_facts;
    ElidedLabel *m_title, *m_path;
    QWidget* m_stageRow;
    StageBox* m_stage;
    QPushButton *m_clear, *m_select;
    QLabel *m_nodes, *m_parameters, *m_annotated, *m_communication, *m_problems;
    QTreeWidget* m_operators;
};

}  // namespace shardwright
