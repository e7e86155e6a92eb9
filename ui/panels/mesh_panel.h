// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <QWidget>

#include <memory>
#include <vector>

class QComboBox;
class QLabel;
class QStackedWidget;
class QTableWidget;
class QToolButton;

namespace shardwright {

class EditorSession;

/// Device configurations: which one is shown, its mesh axes, the devices of its stages.
class MeshPanel : public QWidget {
    Q_OBJECT

public:
    explicit MeshPanel(EditorSession* session, QWidget* parent = nullptr);

    void setAnalysis(std::shared_ptr<const Analysis> analysis);
    /// Adds a configuration with one axis `tp` of two devices.
    void addConfiguration();

signals:
    void refused(const QString& message);

private:
    QWidget* buildConfigurations();
    QWidget* buildAxes();
    QWidget* buildStages();
    QToolButton* button(const QString& icon, const QString& tip, void (MeshPanel::*slot)());
    void refresh();
    void refreshAxes();
    void refreshStages();
    void removeConfiguration();
    void renameConfiguration(const QString& name);
    void addAxis();
    void removeAxis();
    void moveAxis(int direction);
    void axisUp() { moveAxis(-1); }
    void axisDown() { moveAxis(1); }
    void axisEdited(int row, int column);
    void stageEdited(int row, int column);
    void addStage();
    void push(Result<Edit> edit, const QString& title);
    void changeMeshTo(const Mesh& mesh, const std::vector<int>& newAxis, const QString& title);
    const Mesh& mesh() const { return m_analysis->configuration.mesh; }

    EditorSession* m_session;
    std::shared_ptr<const Analysis> m_analysis;
    QStackedWidget* m_stack;
    QComboBox* m_configurations;
    QTableWidget *m_axes, *m_stages;
    QLabel* m_devices;
    bool m_filling = false;
};

}  // namespace shardwright
