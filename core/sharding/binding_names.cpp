// SPDX-License-Identifier: Apache-2.0
#include "sharding/binding_names.h"

#include "model/declared_types.h"
#include "model/graph_walk.h"
#include "sharding/codes.h"
#include "sharding/glob.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

namespace shardwright {

namespace {

constexpr std::size_t kShown = 8;

/// Symbols of declared types. Points into the model.
std::set<std::string_view> declaredSymbols(const Model& model) {
    std::set<std::string_view> names;
    const auto add = [&](const auto& list) {
        for (const auto& info : list)
            for (const auto& dimension : info.type().tensor_type().shape().dim())
                if (!dimension.dim_param().empty())
                    names.insert(dimension.dim_param());
    };
    for (const auto& source : listGraphs(model.proto())) {
        if (source.graph != nullptr) {
            add(source.graph->input());
            add(source.graph->output());
            add(source.graph->value_info());
        } else {
            add(source.function->value_info());
        }
    }
    return names;
}

std::string listOf(const std::set<std::string_view>& names) {
    std::string text;
    std::size_t shown = 0;
    for (const std::string_view name : names) {
        if (shown == kShown)
            break;
        text += (shown++ == 0 ? "" : ", ") + quoteName(std::string(name));
    }
    return names.size() > kShown ? text + " and " + std::to_string(names.size() - kShown) + " more"
                                 : text;
}

}  // namespace

std::optional<Error> unknownBinding(const Model& model, const Bindings& bindings) {
    if (bindings.sizes.empty())
        return std::nullopt;
    const DimensionBinder binder(model, bindings);
    std::set<std::string_view> names = declaredSymbols(model);
    for (const auto& [name, size] : binder.used())
        names.insert(name);
    const auto unknown = std::ranges::find_if(
        bindings.sizes, [&](const auto& b) { return !names.contains(b.first); });
    if (unknown == bindings.sizes.end())
        return std::nullopt;
    std::string near = suggestion(unknown->first, names);
    if (near.empty())
        near = names.empty() ? "; all its dimensions are numbers" : "; there are " + listOf(names);
    return Error{"no dimension of the model is called " + quoteName(unknown->first) + near,
                 "--bind"};
}

}  // namespace shardwright
