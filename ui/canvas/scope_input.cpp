// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/scope_input.h"

#include <functional>
#include <queue>
#include <unordered_map>

namespace shardwright {

namespace {

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

/// Items so that edges lead forward. Closed scopes can read each other's results in turn; such a
/// circle is cut where the item comes that is first in the order of the model.
std::vector<int> forwardOrder(const SceneContainer& inside) {
    const std::size_t count = inside.items.size();
    std::vector<std::vector<int>> readers(count);
    std::vector<int> waiting(count);
    for (const SceneEdge& edge : inside.edges) {
        readers[at(edge.from)].push_back(edge.to);
        ++waiting[at(edge.to)];
    }
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (std::size_t i = 0; i < count; ++i) {
        if (waiting[i] == 0)
            ready.push(static_cast<int>(i));
    }
    std::vector<int> order;
    std::vector<bool> done(count);
    for (std::size_t first = 0; order.size() < count;) {
        while (first < count && done[first])
            ++first;
        const int next = ready.empty() ? static_cast<int>(first) : ready.top();
        if (!ready.empty())
            ready.pop();
        if (done[at(next)])
            continue;
        done[at(next)] = true;
        order.push_back(next);
        for (const int reader : readers[at(next)]) {
            if (--waiting[at(reader)] == 0)
                ready.push(reader);
        }
    }
    return order;
}

}  // namespace

ScopeInput scopeInput(const SceneContainer& inside) {
    ScopeInput result;
    std::vector<int> position(inside.items.size());
    const std::vector<int> order = forwardOrder(inside);
    const auto add = [&](auto&& wanted, LayoutInput::Pin pin) {
        for (const int i : order) {
            const SceneItem& item = inside.items[at(i)];
            if (!wanted(item.kind))
                continue;
            position[at(i)] = static_cast<int>(result.itemOf.size());
            result.itemOf.push_back(i);
            result.input.items.push_back({item.width, item.height, pin});
        }
    };
    add([](BoxKind kind) { return kind == BoxKind::InPort; }, LayoutInput::Pin::Top);
    add([](BoxKind kind) { return kind != BoxKind::InPort && kind != BoxKind::OutPort; },
        LayoutInput::Pin::None);
    add([](BoxKind kind) { return kind == BoxKind::OutPort; }, LayoutInput::Pin::Bottom);

    std::unordered_map<std::uint64_t, int> nets;
    for (const SceneEdge& edge : inside.edges) {
        const auto key = static_cast<std::uint64_t>(edge.from) << 32 |
                         static_cast<std::uint32_t>(edge.value.value);
        const auto [entry, added] = nets.try_emplace(key, static_cast<int>(result.values.size()));
        if (added)
            result.values.push_back(edge.value);
        result.input.edges.push_back(
            {position[at(edge.from)], position[at(edge.to)], entry->second});
    }
    result.input.netCount = static_cast<int>(result.values.size());
    return result;
}

}  // namespace shardwright
