// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/axis_picker.h"

#include "ui/panels/chips.h"
#include "ui/window/text.h"

#include <QActionGroup>
#include <QCursor>
#include <QMenu>

#include <algorithm>

namespace shardwright {

AxisPicker::AxisPicker(QWidget* parent) : QToolButton(parent) {
    setPopupMode(QToolButton::InstantPopup);
    setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    auto* menu = new QMenu(this);
    setMenu(menu);
    connect(menu, &QMenu::aboutToShow, this, &AxisPicker::buildMenu);
    // The pointer left while the menu had the mouse: nobody tells, and the frame would stay.
    connect(menu, &QMenu::aboutToHide, this, [this] {
        setAttribute(Qt::WA_UnderMouse, rect().contains(mapFromGlobal(QCursor::pos())));
        update();
    });
}

void AxisPicker::show(const Mesh& mesh, const std::vector<int>& axes,
                      const std::vector<int>& axesOfOthers, const QString& parts) {
    m_mesh = mesh;
    m_axes = axes;
    m_usedBy = axesOfOthers;
    m_parts = parts;
    setText(!parts.isEmpty() ? menuText(oneLine(parts, 40))
            : axes.empty()   ? tr("not split")
                             : menuText(axesText(axes)));
    setIcon(axisIcon(axes, palette(), devicePixelRatioF()));
    setIconSize(QSize(static_cast<int>(std::max<std::size_t>(axes.size(), 1)) * 12, 14));
}

QString AxisPicker::axisText(int axis) const {
    const MeshAxis& info = m_mesh.axes[static_cast<std::size_t>(axis)];
    return tr("%1 (%2)").arg(toQt(info.name)).arg(info.size);
}

QString AxisPicker::axesText(const std::vector<int>& axes) const {
    QStringList names;
    for (const int axis : axes)
        names << toQt(m_mesh.axes[static_cast<std::size_t>(axis)].name);
    return names.join(tr(", then "));
}

void AxisPicker::addChoice(const QString& text, const std::vector<int>& axes, bool checked) {
    QAction* action =
        menu()->addAction(axisIcon(axes, palette(), devicePixelRatioF()), menuText(text));
    action->setCheckable(true);
    action->setChecked(checked);
    connect(action, &QAction::triggered, this, [this, axes] { emit axesChosen(axes); });
}

void AxisPicker::buildMenu() {
    menu()->clear();
    addAxes();
    menu()->addSeparator();
    QAction* parts = menu()->addAction(
        m_parts.isEmpty() ? tr("In Parts…") : tr("In Parts: %1…").arg(menuText(m_parts)));
    parts->setCheckable(!m_parts.isEmpty());
    parts->setChecked(!m_parts.isEmpty());
    connect(parts, &QAction::triggered, this, &AxisPicker::partsWanted);
    // The keyboard begins at the present state, as in a combo box.
    for (QAction* action : menu()->actions())
        if (action->isChecked()) {
            menu()->setActiveAction(action);
            break;
        }
}

void AxisPicker::addAxes() {
    addChoice(tr("Not split"), {}, m_axes.empty() && m_parts.isEmpty());
    const int count = static_cast<int>(m_mesh.axes.size());
    for (int axis = 0; axis < count; ++axis) {
        QString text = axisText(axis);
        if (const int dim = m_usedBy[static_cast<std::size_t>(axis)]; dim >= 0)
            text = tr("%1, taken from dimension %2").arg(text).arg(dim);
        addChoice(text, {axis}, m_parts.isEmpty() && m_axes == std::vector<int>{axis});
    }
    if (m_axes.empty() || count < 2)
        return;
    menu()->addSeparator();
    if (m_axes.size() > 1)
        addChoice(axesText(m_axes), m_axes, m_parts.isEmpty());
    for (int axis = 0; axis < count; ++axis) {
        if (std::ranges::find(m_axes, axis) != m_axes.end())
            continue;
        std::vector<int> more = m_axes;
        more.push_back(axis);
        addChoice(axesText(more), more, false);
    }
    if (m_axes.size() > 1)
        addChoice(axesText({m_axes.rbegin(), m_axes.rend()}), {m_axes.rbegin(), m_axes.rend()},
                  false);
    else
        for (int axis = 0; axis < count; ++axis)
            if (axis != m_axes.front())
                addChoice(axesText({axis, m_axes.front()}), {axis, m_axes.front()}, false);
}

}  // namespace shardwright
