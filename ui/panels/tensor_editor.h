// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/assign.h"

#include <QPointer>
#include <QWidget>

#include <memory>
#include <vector>

class QGridLayout;
class QLabel;
class QMenu;
class QPushButton;
class QToolButton;

namespace shardwright {

class AxisPicker;
class EditorSession;

/// Edits how one tensor lies at one node, or the tensors in the same slot of several nodes.
class TensorEditor : public QWidget {
    Q_OBJECT

public:
    explicit TensorEditor(EditorSession* session, QWidget* parent = nullptr);

    /// The first slot is shown; edits go to all.
    void show(std::shared_ptr<const Analysis> analysis, std::vector<TensorSlot> tensorSlots);
    const std::vector<TensorSlot>& tensorSlots() const { return m_slots; }
    AxisPicker* picker(int dim) const;
    /// The layout that is shown, as text.
    void copyLayout() const;

signals:
    void nodeWanted(shardwright::NodeId node);
    /// An edit that cannot be done, in words.
    void refused(const QString& message);

private:
    struct Row {
        QLabel* dimension;
        AxisPicker* picker;
        QLabel* result;
    };
    void refresh();
    void refreshTitle(const ValueInfo& value);
    void refreshDimensions(const TensorInfo& info);
    void refreshRow(int dim, const TensorInfo& info, const MeshSharding& sharding,
                    LayoutRef unexplained);
    void addRow();
    void refreshReason();
    void fillPlaces(QMenu* menu);
    void choose(int dim, const std::vector<int>& axes);
    void askForParts(int dim);
    /// Why it cannot be done; empty where it was done.
    QString chooseParts(int dim, const QString& parts);
    /// Whether the dimension is split so already in all slots.
    bool liesSo(int dim, const std::vector<int>& axes) const;
    void replicate();
    void remove();
    void push(Result<Edit> edit, const QString& title);
    QString places() const;

    EditorSession* m_session;
    std::shared_ptr<const Analysis> m_analysis;
    std::vector<TensorSlot> m_slots;
    std::vector<Row> m_rows;
    QGridLayout* m_grid;
    QLabel *m_title, *m_role, *m_hint, *m_reason;
    QToolButton* m_places;
    QPushButton *m_replicate, *m_remove, *m_copy;
};

}  // namespace shardwright
