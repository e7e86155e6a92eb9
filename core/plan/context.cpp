// SPDX-License-Identifier: Apache-2.0
#include "plan/context.h"

#include "comm/moved_bits.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

namespace shardwright::lowering {

Context::Context(const Analysis& a, bool withAnnotations, std::uint64_t seed)
    : analysis(a), graph(a.document.graph()), shapes(*a.shapes),
      annotated(withAnnotations && a.hasConfiguration), seeds(seed, a.document.model->proto()) {
    if (annotated)
        deviceCount = std::max(1, a.configuration.deviceCount);
    for (const auto& import : a.document.model->proto().opset_import())
        if (import.domain().empty() || import.domain() == "ai.onnx")
            opset = static_cast<int>(import.version());
}

Box Context::whole(ValueId value, NodeId where) const {
    if (!sized(value))
        refuse(where, "the shape of `" + name(value) +
                          "` is not known in numbers, so it cannot be laid out on devices");
    return Box::whole(info(value).dims);
}

int Context::bits(ValueId value) const {
    return movedBits(info(value).elementType);
}

void Context::refuse(NodeId where, const std::string& message) const {
    std::string place;
    if (where) {
        const std::string_view domain = graph.domain(where);
        place = (domain.empty() ? "" : std::string(domain) + "::") +
                std::string(graph.opType(where)) + " " + graph.label(where);
    }
    throw Refusal{message, place};
}

std::string dimsText(const std::vector<std::int64_t>& dims) {
    std::string text = "[";
    for (std::size_t i = 0; i < dims.size(); ++i)
        text += (i ? ", " : "") + std::to_string(dims[i]);
    return text + "]";
}

std::vector<std::int64_t> dimsOf(const Box& box) {
    std::vector<std::int64_t> dims;
    dims.reserve(box.dims.size());
    for (const IndexSet& set : box.dims)
        dims.push_back(set.count());
    return dims;
}

}  // namespace shardwright::lowering
