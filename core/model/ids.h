// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace shardwright {

/// A strong index: an id of one kind does not convert to an id of another.
template <class Tag>
struct Id {
    std::int32_t value = -1;

    constexpr Id() = default;
    constexpr explicit Id(std::int32_t v) : value(v) {}
    constexpr explicit Id(std::size_t v) : value(static_cast<std::int32_t>(v)) {}
    constexpr explicit operator bool() const { return value >= 0; }
    constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
    constexpr auto operator<=>(const Id&) const = default;
};

using NodeId = Id<struct NodeTag>;    ///< A node of any graph of the model: main, body or function.
using ValueId = Id<struct ValueTag>;  ///< A tensor (or sequence, optional) of any graph.
using GraphId = Id<struct GraphTag>;  ///< 0 is the main graph.
using ScopeId = Id<struct ScopeTag>;  ///< A name scope; 0 is the root.

}  // namespace shardwright

template <class Tag>
struct std::hash<shardwright::Id<Tag>> {
    std::size_t operator()(shardwright::Id<Tag> id) const noexcept {
        return std::hash<std::int32_t>{}(id.value);
    }
};
