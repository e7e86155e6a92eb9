// SPDX-License-Identifier: Apache-2.0
//
// A packed tree: rectangles are sorted into vertical strips of about the same number of entries and
// by height within a strip (sort-tile-recursive packing), so that neighbours share a page; each
// page of 16 has its bounds one level up.

#include "ui/canvas/spatial_index.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardwright {

namespace {
constexpr std::size_t kPage = 16;
}

SpatialIndex::SpatialIndex(const std::vector<QRectF>& rects) {
    const std::size_t count = rects.size();
    if (count == 0)
        return;
    m_ids.resize(count);
    std::iota(m_ids.begin(), m_ids.end(), 0);
    const auto rect = [&](int id) -> const QRectF& { return rects[static_cast<std::size_t>(id)]; };
    std::sort(m_ids.begin(), m_ids.end(), [&](int a, int b) {
        const double x = rect(a).center().x(), y = rect(b).center().x();
        return x != y ? x < y : a < b;
    });
    const std::size_t pages = (count + kPage - 1) / kPage;
    const auto strips = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(pages))));
    const std::size_t perStrip = (pages + strips - 1) / strips * kPage;
    for (std::size_t begin = 0; begin < count; begin += perStrip) {
        const auto end =
            m_ids.begin() + static_cast<std::ptrdiff_t>(std::min(begin + perStrip, count));
        std::sort(m_ids.begin() + static_cast<std::ptrdiff_t>(begin), end, [&](int a, int b) {
            const double x = rect(a).center().y(), y = rect(b).center().y();
            return x != y ? x < y : a < b;
        });
    }
    for (const int id : m_ids)
        m_boxes.push_back({rect(id).left(), rect(id).top(), rect(id).right(), rect(id).bottom()});
    m_levels.push_back(m_boxes.size());
    for (std::size_t begin = 0; m_boxes.size() - begin > 1;) {
        const std::size_t end = m_boxes.size();
        for (std::size_t page = begin; page < end; page += kPage) {
            Box bounds = m_boxes[page];
            for (std::size_t i = page + 1; i < std::min(page + kPage, end); ++i) {
                bounds = {std::min(bounds.left, m_boxes[i].left),
                          std::min(bounds.top, m_boxes[i].top),
                          std::max(bounds.right, m_boxes[i].right),
                          std::max(bounds.bottom, m_boxes[i].bottom)};
            }
            m_boxes.push_back(bounds);
        }
        m_levels.push_back(m_boxes.size());
        begin = end;
    }
}

void SpatialIndex::query(const QRectF& rect, std::vector<int>& out) const {
    if (m_boxes.empty())
        return;
    const auto before = static_cast<std::ptrdiff_t>(out.size());
    std::vector<std::pair<std::size_t, std::size_t>> open{
        {m_boxes.size() - 1, m_levels.size() - 1}};
    while (!open.empty()) {
        const auto [index, level] = open.back();
        open.pop_back();
        const Box& box = m_boxes[index];
        if (box.left > rect.right() || box.right < rect.left() || box.top > rect.bottom() ||
            box.bottom < rect.top())
            continue;
        const std::size_t levelBegin = level == 0 ? 0 : m_levels[level - 1];
        if (level == 0) {
            out.push_back(m_ids[index]);
            continue;
        }
        const std::size_t belowBegin = level == 1 ? 0 : m_levels[level - 2];
        const std::size_t first = belowBegin + (index - levelBegin) * kPage;
        for (std::size_t i = first; i < std::min(first + kPage, levelBegin); ++i)
            open.emplace_back(i, level - 1);
    }
    std::sort(out.begin() + before, out.end());
}

}  // namespace shardwright
