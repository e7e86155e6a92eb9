// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRectF>

#include <vector>

namespace shardwright {

/// Finds the rectangles that touch another: a static tree over rectangles sorted by place, 16 to a
/// page.
class SpatialIndex {
public:
    SpatialIndex() = default;
    explicit SpatialIndex(const std::vector<QRectF>& rects);
    /// Positions (in the list given) of all that touch `rect`, ascending, appended to `out`.
    void query(const QRectF& rect, std::vector<int>& out) const;

private:
    struct Box {
        double left, top, right, bottom;
    };
    std::vector<Box> m_boxes;           ///< Level by level, leaves first.
    std::vector<int> m_ids;             ///< Of the leaves.
    std::vector<std::size_t> m_levels;  ///< Where each level ends.
};

}  // namespace shardwright
