// SPDX-License-Identifier: Apache-2.0
//
// The second half of SpecDims: what is listed, against the sizes of the tensor.

#include "sharding/codes.h"
#include "sharding/spec_dims.h"

#include <algorithm>
#include <limits>

namespace shardwright {

namespace {

std::int64_t saturatingProduct(std::int64_t a, std::int64_t b) {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    return a != 0 && b > kMax / a ? kMax : a * b;
}

/// "3, 3, 3, 1"
std::string blocksText(const Component& component) {
    constexpr std::int64_t kShown = 8;
    std::string text;
    std::int64_t rest = component.size;
    for (std::int64_t k = 0; k < component.shards; ++k) {
        // Long lists: the first ones tell the block, the last one what is left.
        if (k == kShown - 2 && component.shards > kShown) {
            k = component.shards - 1;
            rest =
                std::max<std::int64_t>(0, component.size - saturatingProduct(k, component.block()));
            text += ", ...";
        }
        const std::int64_t block = std::min(rest, component.block());
        rest -= block;
        text += (text.empty() ? "" : ", ") + std::to_string(block);
    }
    return text;
}

}  // namespace

void SpecDims::layOut() {
    if (!m_info.hasRank) {
        report("SW204", -1, "the rank is not known, so the layout is not");
        return;
    }
    std::vector<std::vector<Component>> dims(m_info.dims.size());
    bool known = true;
    for (const Entry& entry : m_entries) {
        if (entry.parts.empty())
            continue;
        auto components = sizes(entry);
        known = known && components.has_value();
        if (!components)
            continue;
        for (const Component& component : *components)
            checkBlocks(entry.axis, component, components->size() > 1);
        if (isTooFine(*components)) {
            report("SW203", entry.axis,
                   "dimension " + std::to_string(entry.axis) +
                       " is cut into millions of separate pieces on each device");
            known = false;
        }
        dims[static_cast<std::size_t>(entry.axis)] = std::move(*components);
    }
    if (!known)
        return;
    const auto open = std::find_if(m_info.dims.begin(), m_info.dims.end(),
                                   [](std::int64_t size) { return size < 0; });
    if (open != m_info.dims.end()) {
        const auto axis = open - m_info.dims.begin();
        report("SW204", axis,
               "the size of dimension " + std::to_string(axis) +
                   " is not known, so the layout is not");
        return;
    }
    m_components = std::move(dims);
}

std::optional<std::vector<Component>> SpecDims::sizes(const Entry& entry) {
    return entry.parts.size() == 1 ? singleSize(entry) : severalSizes(entry);
}

bool SpecDims::isStatic(std::int64_t axis) const {
    const auto i = static_cast<std::size_t>(axis);
    return i < m_info.symbolic.size() && m_info.symbolic[i].size >= 0;
}

/// "8", "batch (8 here)", "not known"
std::string SpecDims::dimensionText(std::int64_t axis) const {
    const auto i = static_cast<std::size_t>(axis);
    const std::string number = m_info.dims[i] >= 0 ? std::to_string(m_info.dims[i]) : std::string();
    if (isStatic(axis))
        return number;
    const std::string& symbol =
        i < m_info.symbolic.size() ? m_info.symbolic[i].symbol : std::string();
    if (symbol.empty())
        return number.empty() ? "not known" : number + " here";
    return symbol + (number.empty() ? "" : " (" + number + " here)");
}

std::optional<std::vector<Component>> SpecDims::singleSize(const Entry& entry) {
    const Part& part = entry.parts[0];
    const auto i = static_cast<std::size_t>(entry.axis);
    const std::int64_t size = m_info.dims[i];
    const auto dimension = [&] {
        return "dimension " + std::to_string(entry.axis) + " is " + dimensionText(entry.axis);
    };
    if (part.size >= 0 && size >= 0 && part.size != size) {
        report(isStatic(entry.axis) ? "SW127" : "SW128", entry.axis,
               dimension() + ", dim_value says " + std::to_string(part.size));
    } else if (!part.symbol.empty()) {
        const bool differs = isStatic(entry.axis) ||
                             (i < m_info.symbolic.size() && !m_info.symbolic[i].symbol.empty() &&
                              m_info.symbolic[i].symbol != part.symbol);
        if (differs)
            report("SW128", entry.axis, dimension() + ", dim_param says " + quoteName(part.symbol));
    }
    if (m_failed)
        return std::nullopt;
    if (size < 0) {
        report("SW204", entry.axis,
               "the size of dimension " + std::to_string(entry.axis) +
                   " is not known, so the layout is not");
        return std::nullopt;
    }
    return std::vector<Component>{{size, part.shards}};
}

std::optional<std::vector<Component>> SpecDims::severalSizes(const Entry& entry) {
    const std::int64_t size = m_info.dims[static_cast<std::size_t>(entry.axis)];
    const std::string name = "dimension " + std::to_string(entry.axis);
    std::vector<Component> components;
    std::int64_t product = 1;
    std::size_t open = 0, openAt = 0, unset = 0;
    for (const Part& part : entry.parts) {
        const auto bound = m_bindings.sizes.find(part.symbol);
        const std::int64_t known = part.size >= 0                    ? part.size
                                   : bound != m_bindings.sizes.end() ? bound->second
                                                                     : -1;
        unset += part.size < 0 && part.symbol.empty() ? 1 : 0;
        if (known < 0) {
            openAt = components.size();
            ++open;
        } else {
            product = saturatingProduct(product, known);
        }
        components.push_back({std::max<std::int64_t>(known, 1), part.shards});
    }
    if (unset > 0)
        report("SW130", entry.axis,
               name + " has " + std::to_string(entry.parts.size()) + " parts, " +
                   std::to_string(unset) + " without a size" +
                   (open > 1 ? ": the layout is not known" : ""));
    if (open > 1 || size < 0) {
        if (unset == 0 || size < 0)
            report("SW204", entry.axis,
                   "the sizes of the parts of " + name + " are not known, so the layout is not");
        return std::nullopt;
    }
    const bool fits = open == 1 ? product > 0 && size % product == 0 : product == size;
    if (!fits) {
        report(isStatic(entry.axis) ? "SW127" : "SW128", entry.axis,
               name + " is " + dimensionText(entry.axis) + ", the sizes of its parts multiply to " +
                   std::to_string(product) + (open == 1 ? ", which does not divide it" : ""));
        return std::nullopt;
    }
    if (open == 1)
        components[openAt].size = size / product;
    return components;
}

void SpecDims::checkBlocks(std::int64_t axis, const Component& component, bool part) {
    const auto what = [&] {
        return (part ? "a part of size " : "the size ") + std::to_string(component.size) +
               (part ? " of dimension " : " of dimension ") + std::to_string(axis);
    };
    if (component.shards > component.size)
        report("SW201", axis,
               what() + " is split into " + std::to_string(component.shards) + ": " +
                   std::to_string(component.shards - component.size) + " shards are empty");
    else if (component.size % component.shards != 0)
        report("SW202", axis,
               what() + " is not divisible by " + std::to_string(component.shards) +
                   ": the blocks have " + blocksText(component) + " elements");
}

}  // namespace shardwright
