// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sharding/mesh.h"

#include <QToolButton>

#include <vector>

namespace shardwright {

/// A button that shows the mesh axes along which one dimension is split, with a menu to choose
/// others.
class AxisPicker : public QToolButton {
    Q_OBJECT

public:
    explicit AxisPicker(QWidget* parent = nullptr);

    /// `axesOfOthers`: for each axis the dimension of the tensor that uses it now, -1 for none.
    /// `parts`: how a dimension of several components is written; empty: it has one.
    void show(const Mesh& mesh, const std::vector<int>& axes, const std::vector<int>& axesOfOthers,
              const QString& parts = {});
    const std::vector<int>& axes() const { return m_axes; }

signals:
    void axesChosen(const std::vector<int>& axes);
    /// The dimension is to be split into parts, in words that the person still has to give.
    void partsWanted();

private:
    void buildMenu();
    void addAxes();
    void addChoice(const QString& text, const std::vector<int>& axes, bool checked);
    QString axisText(int axis) const;
    QString axesText(const std::vector<int>& axes) const;

    Mesh m_mesh;
    std::vector<int> m_axes;
    std::vector<int> m_usedBy;
    QString m_parts;
};

}  // namespace shardwright
