// SPDX-License-Identifier: Apache-2.0
#include "plan/seeds.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <string_view>

namespace shardwright::lowering {

namespace {

std::string domainOf(const std::string& domain) {
    return domain == "ai.onnx" ? std::string() : domain;
}

/// 24 bits, which a float has exactly; never 0, which some kernels take for none. FNV-1a, then the
/// finisher of splitmix64.
std::uint32_t seedOf(std::uint64_t seed, std::string_view name) {
    std::uint64_t hash = 0xcbf29ce484222325ull ^ seed;
    for (const char c : name)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebull;
    return static_cast<std::uint32_t>((hash ^ (hash >> 31)) & 0xffffff) | 1u;
}

}  // namespace

Seeds::Seeds(std::uint64_t seed, const onnx::ModelProto& model) : m_seed(seed) {
    for (const auto& import : model.opset_import())
        m_versions[domainOf(import.domain())] = static_cast<int>(import.version());
}

Seeds Seeds::with(const onnx::FunctionProto& function) const {
    Seeds seeds = *this;
    for (const auto& import : function.opset_import())
        seeds.m_versions[domainOf(import.domain())] = static_cast<int>(import.version());
    return seeds;
}

bool Seeds::set(onnx::NodeProto& node, const onnx::NodeProto& original) const {
    constexpr const char* kSeed = "seed";
    const std::string domain = domainOf(node.domain());
    const auto version = m_versions.find(domain);
    if (version == m_versions.end())
        return false;
    const onnx::OpSchema* schema =
        onnx::OpSchemaRegistry::Schema(node.op_type(), version->second, domain);
    if (schema == nullptr)
        return false;
    const auto found = schema->attributes().find(kSeed);
    const bool set = std::any_of(node.attribute().begin(), node.attribute().end(),
                                 [&](const onnx::AttributeProto& a) { return a.name() == kSeed; });
    if (set || found == schema->attributes().end())
        return false;
    const auto type = found->second.type;
    if (type != onnx::AttributeProto::FLOAT && type != onnx::AttributeProto::INT)
        return false;
    const auto named = std::find_if(original.output().begin(), original.output().end(),
                                    [](const std::string& name) { return !name.empty(); });
    const std::uint32_t seed =
        seedOf(m_seed, named == original.output().end() ? std::string() : *named);
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(kSeed);
    attribute.set_type(type);
    if (type == onnx::AttributeProto::FLOAT)
        attribute.set_f(static_cast<float>(seed));
    else
        attribute.set_i(seed);
    return true;
}

}  // namespace shardwright::lowering
