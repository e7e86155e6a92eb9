// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/assign.h"

#include <QList>
#include <QWidget>

#include <memory>

class QLabel;
class QPushButton;
class QScrollArea;
class QTreeView;
class QTreeWidget;

namespace shardwright {

class EditorSession;
class NodeProblems;
class ScopeView;
class StageBox;
class TensorEditor;
class TensorModel;

/// What is selected: operator, attributes, tensors with their layouts, and the controls that change
/// them; or what a scope holds.
class InspectorPanel : public QWidget {
    Q_OBJECT

public:
    explicit InspectorPanel(EditorSession* session, QWidget* parent = nullptr);

    void showNodes(const QList<NodeId>& nodes);
    /// Shown while no node is.
    void showScope(ScopeId scope);
    /// Shows the tensor at its producer, or at its first consumer.
    void showValue(ValueId value);
    void setAnalysis(std::shared_ptr<const Analysis> analysis);
    /// Shows the piece where all that is selected is in it, until the next setAnalysis().
    void setPiece(std::shared_ptr<const Analysis> piece);
    /// Makes the row of the tensor current.
    void selectSlot(TensorSlot slot);
    TensorEditor* tensorEditor() const { return m_editor; }

signals:
    void nodeWanted(shardwright::NodeId node);
    void valueWanted(shardwright::ValueId value);
    /// The tensor whose layout is shown changed.
    void tensorShown(shardwright::ValueId value, shardwright::TensorSlot slot);
    void nodesWanted(const QList<shardwright::NodeId>& nodes);
    void meshWanted();
    void refused(const QString& message);

private:
    QWidget* buildHeader();
    QWidget* buildTensors();
    QWidget* buildAttributes();
    void refresh();
    bool isInPiece() const;
    void refreshHeader();
    void refreshStage();
    void refreshAttributes();
    void currentTensorChanged();
    void fitTable();
    void stageChosen(int stage);
    void clearAnnotations();
    /// The slot at every selected node where it means the same: equal operator and rank.
    std::vector<TensorSlot> likeSlots(TensorSlot slot) const;
    /// What is selected by operator, the most frequent first.
    std::vector<QList<NodeId>> nodesByOperator() const;
    QString operatorText(NodeId node) const;
    /// The operators of a selection; where there are several, each is a link that selects only it.
    void refreshOperators();
    void selectOperator(int index);
    QString placesText() const;

    EditorSession* m_session;
    /// m_whole, or m_piece where it says all of what is shown.
    std::shared_ptr<const Analysis> m_analysis;
    std::shared_ptr<const Analysis> m_whole, m_piece;
    QList<NodeId> m_nodes;
    ScopeId m_shownScope;
    ScopeView* m_scopeView;
    TensorModel* m_model;
    TensorEditor* m_editor;
    NodeProblems* m_problems;
    QScrollArea* m_scroll;
    QLabel *m_empty, *m_operator, *m_name, *m_operators, *m_scope, *m_stageDevices, *m_tensorsTitle,
        *m_attributesTitle;
    QWidget* m_stageRow;
    StageBox* m_stage;
    QPushButton *m_clear, *m_addMesh;
    QTreeView* m_table;
    QTreeWidget* m_attributes;
};

}  // namespace shardwright
