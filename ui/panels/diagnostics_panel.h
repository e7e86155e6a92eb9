// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <QHash>
#include <QWidget>

#include <memory>

class QBoxLayout;
class QLabel;
class QToolButton;
class QTreeView;

namespace shardwright {

class DiagnosticsFilter;
class DiagnosticsModel;
class EditorSession;

/// The list of diagnostics with filters, the whole message of the current one, and its quick fixes.
class DiagnosticsPanel : public QWidget {
    Q_OBJECT

public:
    explicit DiagnosticsPanel(EditorSession* session, QWidget* parent = nullptr);
    void setAnalysis(std::shared_ptr<const Analysis> analysis);

signals:
    void nodeWanted(shardwright::NodeId node);

private:
    QWidget* buildFilters();
    const Diagnostic* current() const;
    void currentChanged();
    void showMenu(const QPoint& position);
    void updateEmpty();
    void applyFix(const Fix& fix);

    EditorSession* m_session;
    std::shared_ptr<const Analysis> m_analysis;
    DiagnosticsModel* m_model;
    DiagnosticsFilter* m_filter;
    QTreeView* m_view;
    QLabel *m_empty, *m_message;
    QWidget* m_detail;
    QWidget* m_fixes = nullptr;
    QBoxLayout* m_detailLayout;
    QHash<int, QToolButton*> m_buttons;
};

}  // namespace shardwright
