// SPDX-License-Identifier: Apache-2.0
#include "sharding/configuration_choice.h"

#include "sharding/codec.h"
#include "sharding/codes.h"

#include <onnx/onnx_pb.h>

#include <set>

namespace shardwright {

Result<std::string> configurationMeant(const Annotations& annotations, const std::string& wanted) {
    const auto names = configurationNames(annotations);
    const std::set<std::string> distinct(names.begin(), names.end());
    if (!wanted.empty() || distinct.empty())
        return wanted;
    if (distinct.size() == 1)
        return *distinct.begin();
    if (distinct.contains("default"))
        return std::string("default");
    constexpr std::size_t kShown = 8;
    std::string list;
    std::size_t shown = 0;
    for (const std::string& name : distinct) {
        if (shown++ == kShown)
            break;
        list += (list.empty() ? "" : ", ") + quoteName(name);
    }
    if (distinct.size() > kShown)
        list += " and " + std::to_string(distinct.size() - kShown) + " more";
    return Error{"the model has the device configurations " + list + "; say which one is meant",
                 "--config"};
}

}  // namespace shardwright
