// SPDX-License-Identifier: Apache-2.0
// What the buttons and tables of MeshPanel do to the document.
#include "check/assign.h"
#include "sharding/configuration_edit.h"
#include "sharding/mesh_metadata.h"
#include "ui/panels/mesh_panel.h"
#include "ui/window/editor_session.h"
#include "ui/window/text.h"

#include <QTableWidget>

#include <algorithm>
#include <numeric>

namespace shardwright {

void MeshPanel::push(Result<Edit> edit, const QString& title) {
    if (edit) {
        m_session->push(std::move(*edit), title);
    } else {
        emit refused(toQt(edit.error().text()));
        refresh();
    }
}

void MeshPanel::changeMeshTo(const Mesh& mesh, const std::vector<int>& newAxis,
                             const QString& title) {
    // Through its text, which checks names and sizes.
    const auto checked = Mesh::parse(mesh.text());
    if (!checked) {
        emit refused(toQt(checked.error().message));
        refresh();
        return;
    }
    push(changeMesh(m_session->document(), *m_analysis, mesh, newAxis), title);
}

void MeshPanel::addConfiguration() {
    if (!m_session->hasDocument())
        return;
    const auto names = configurationNames(m_session->document().annotations);
    std::string name = "default";
    for (int i = 2; std::ranges::find(names, name) != names.end(); ++i)
        name = "default" + std::to_string(i);
    m_session->push(editConfiguration(m_session->document(), name, Mesh{{{"tp", 2}}}),
                    tr("Add configuration %1").arg(toQt(name)));
    m_session->setConfiguration(toQt(name));
}

void MeshPanel::removeConfiguration() {
    const std::string name = m_analysis->configuration.name;
    m_session->push(editRemoveConfiguration(m_session->document(), name),
                    tr("Remove configuration %1").arg(toQt(name)));
}

void MeshPanel::renameConfiguration(const QString& name) {
    const std::string from = m_analysis->configuration.name;
    auto edit = editRenameConfiguration(m_session->document(), from, fromQt(name));
    const bool works = static_cast<bool>(edit);
    push(std::move(edit), tr("Rename configuration %1 to %2").arg(toQt(from), name));
    if (works)
        m_session->setConfiguration(name);
}

void MeshPanel::addAxis() {
    Mesh mesh = this->mesh();
    std::vector<int> same(mesh.axes.size());
    std::iota(same.begin(), same.end(), 0);
    const char* const usual[] = {"tp", "dp", "pp", "sp", "ep"};
    std::string name;
    for (const char* candidate : usual)
        if (name.empty() && mesh.axisIndex(candidate) < 0)
            name = candidate;
    for (int i = 0; name.empty(); ++i)
        if (mesh.axisIndex("axis" + std::to_string(i)) < 0)
            name = "axis" + std::to_string(i);
    // pp would bind stages, which is for a person to say.
    if (name == "pp")
        name = mesh.axisIndex("sp") < 0 ? "sp" : "axis" + std::to_string(mesh.axes.size());
    mesh.axes.push_back({name, 2});
    changeMeshTo(mesh, same, tr("Add axis %1").arg(toQt(name)));
}

void MeshPanel::removeAxis() {
    const int row = m_axes->currentRow();
    Mesh mesh = this->mesh();
    if (row < 0 || row >= static_cast<int>(mesh.axes.size()))
        return;
    if (mesh.axes.size() == 1) {
        emit refused(tr("A mesh needs an axis. Remove the configuration instead."));
        return;
    }
    const QString name = toQt(mesh.axes[static_cast<std::size_t>(row)].name);
    mesh.axes.erase(mesh.axes.begin() + row);
    std::vector<int> newAxis;
    for (int i = 0; i <= static_cast<int>(mesh.axes.size()); ++i)
        newAxis.push_back(i == row ? -1 : i > row ? i - 1 : i);
    changeMeshTo(mesh, newAxis, tr("Remove axis %1").arg(name));
}

void MeshPanel::moveAxis(int direction) {
    const int row = m_axes->currentRow();
    const int to = row + direction;
    Mesh mesh = this->mesh();
    if (row < 0 || to < 0 || to >= static_cast<int>(mesh.axes.size()))
        return;
    std::swap(mesh.axes[static_cast<std::size_t>(row)], mesh.axes[static_cast<std::size_t>(to)]);
    std::vector<int> newAxis(mesh.axes.size());
    std::iota(newAxis.begin(), newAxis.end(), 0);
    std::swap(newAxis[static_cast<std::size_t>(row)], newAxis[static_cast<std::size_t>(to)]);
    const QString name = toQt(mesh.axes[static_cast<std::size_t>(to)].name);
    m_axes->setCurrentCell(to, 0);
    changeMeshTo(mesh, newAxis, tr("Move axis %1").arg(name));
}

void MeshPanel::axisEdited(int row, int column) {
    if (m_filling || !m_analysis)
        return;
    Mesh mesh = this->mesh();
    MeshAxis& axis = mesh.axes[static_cast<std::size_t>(row)];
    const MeshAxis before = axis;
    const QVariant entered = m_axes->item(row, column)->data(Qt::EditRole);
    if (column == 0)
        axis.name = fromQt(entered.toString().trimmed());
    else
        axis.size = entered.toInt();
    if (axis == before)
        return;
    std::vector<int> same(mesh.axes.size());
    std::iota(same.begin(), same.end(), 0);
    changeMeshTo(mesh, same,
                 column == 0 ? tr("Rename axis %1 to %2").arg(toQt(before.name), toQt(axis.name))
                             : tr("Size of axis %1: %2").arg(toQt(axis.name)).arg(axis.size));
}

void MeshPanel::stageEdited(int row, int column) {
    if (m_filling || !m_analysis || column != 1)
        return;
    const QString stage = m_stages->item(row, 0)->text();
    QString devices = m_stages->item(row, 1)->text().remove(u' ');
    devices.replace(QChar(0x2013), u'-');
    const auto parsed = parseDevices(fromQt(devices));
    if (parsed)
        push(editStageDevices(m_session->document(), m_analysis->configuration.name, stage.toInt(),
                              *parsed),
             tr("Devices of stage %1: %2").arg(stage, devices));
    else
        push(parsed.error(), {});
}

void MeshPanel::addStage() {
    if (!m_analysis)
        return;
    const auto& bound = m_analysis->configuration.boundStages;
    const int stage = bound.empty() ? 0 : bound.back().first + 1;
    m_session->push(editStageDevices(m_session->document(), m_analysis->configuration.name, stage,
                                     m_analysis->configuration.allDevices()),
                    tr("Bind stage %1").arg(stage));
}

}  // namespace shardwright
