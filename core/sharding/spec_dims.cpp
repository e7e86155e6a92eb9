// SPDX-License-Identifier: Apache-2.0
#include "sharding/spec_dims.h"

#include "sharding/codes.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace shardwright {

namespace {

std::int64_t saturatingProduct(std::int64_t a, std::int64_t b) {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    return a != 0 && b > kMax / a ? kMax : a * b;
}

}  // namespace

void SpecDims::report(const char* code, std::int64_t dimension, const std::string& text) {
    m_report(code, static_cast<int>(std::clamp<std::int64_t>(dimension, -1, 1 << 20)), text);
    const CodeInfo* info = findShardingCode(code);
    m_failed = m_failed || !info || info->severity == Severity::Error;
}

void SpecDims::read() {
    std::unordered_map<std::int64_t, int> seen;
    bool negative = false, positive = false;
    for (const onnx::ShardedDimProto& dim : m_spec.sharded_dim()) {
        Entry entry;
        if (!readAxis(dim, entry)) {
            m_shards = -1;  // One error: no count of shards against devices without this dimension.
            continue;
        }
        if (++seen[entry.axis] == 2)
            report("SW121", entry.axis,
                   "dimension " + std::to_string(entry.axis) + " is sharded twice");
        (entry.axis < 0 ? negative : positive) = true;
        readParts(dim, entry);
        m_entries.push_back(std::move(entry));
    }
    if (negative && positive)
        report(
            "SW122", -1,
            "the rank is not known, so that a negative and a positive axis may be one dimension");
    checkOrder();
    if (!m_failed)
        layOut();
}

bool SpecDims::readAxis(const onnx::ShardedDimProto& dim, Entry& entry) {
    entry.written = dim.axis();
    entry.axis = entry.written;
    if (!m_info.hasRank)
        return true;
    const auto rank = static_cast<std::int64_t>(m_info.dims.size());
    if (entry.written < -rank || entry.written >= rank) {
        report("SW120", -1,
               "axis " + std::to_string(entry.written) + " is out of range for rank " +
                   std::to_string(rank) +
                   (rank == 0
                        ? ": a scalar has no dimensions"
                        : " (" + std::to_string(-rank) + " to " + std::to_string(rank - 1) + ")"));
        return false;
    }
    entry.axis += entry.written < 0 ? rank : 0;
    return true;
}

void SpecDims::readParts(const onnx::ShardedDimProto& dim, Entry& entry) {
    const auto name = [&] { return "dimension " + std::to_string(entry.axis); };
    if (dim.simple_sharding().empty()) {
        report("SW124", entry.axis,
               name() + " is listed without simple_sharding, so it is not split");
        return;
    }
    m_splits = true;
    for (const onnx::SimpleShardedDimProto& simple : dim.simple_sharding()) {
        Part part;
        part.shards = simple.num_shards();
        if (part.shards < 1) {
            report("SW125", entry.axis,
                   name() + " is split into " + std::to_string(part.shards) + " shards");
            m_shards = -1;
        } else if (m_shards > 0) {
            m_shards = saturatingProduct(m_shards, part.shards);
        }
        if (part.shards == 1 && dim.simple_sharding_size() == 1)
            report("SW126", entry.axis,
                   name() + " is split into 1 shard, which is the same as not split");
        if (simple.dim_case() == onnx::SimpleShardedDimProto::kDimValue) {
            part.size = simple.dim_value();
            const bool empty = part.size == 0 && m_info.hasRank &&
                               m_info.dims[static_cast<std::size_t>(entry.axis)] == 0;
            if (part.size < 1 && !empty) {
                report("SW129", entry.axis,
                       name() + " has dim_value " + std::to_string(part.size) +
                           ", which is taken as unset");
                part.size = -1;
            }
        } else if (simple.dim_case() == onnx::SimpleShardedDimProto::kDimParam) {
            part.symbol = simple.dim_param();
        }
        entry.parts.push_back(std::move(part));
    }
}

void SpecDims::checkOrder() {
    const auto descends = [](const Entry& a, const Entry& b) {
        return (a.axis < 0) == (b.axis < 0) && b.axis < a.axis;
    };
    if (std::adjacent_find(m_entries.begin(), m_entries.end(), descends) == m_entries.end())
        return;
    std::string axes;
    for (const Entry& entry : m_entries)
        axes += (axes.empty() ? "" : ", ") + std::to_string(entry.axis);
    report("SW123", -1,
           "the dimensions are listed as " + axes + "; shards are numbered in this order");
}

std::string SpecDims::text() const {
    std::string text;
    int split = 0;
    for (const Entry& entry : m_entries) {
        for (const Part& part : entry.parts) {
            text += (text.empty() ? " (" : ", ") + std::to_string(part.shards) + " on dimension " +
                    std::to_string(entry.axis);
            ++split;
        }
    }
    return split == 0 ? std::string() : text + ")";
}

std::vector<int> SpecDims::ascendingShards() const {
    const auto byAxis = [](const Entry& a, const Entry& b) { return a.axis < b.axis; };
    if (m_shards < 1 || std::is_sorted(m_entries.begin(), m_entries.end(), byAxis))
        return {};
    std::vector<std::int64_t> counts(m_entries.size(), 1);  // Shards of each entry, as listed.
    std::vector<std::int64_t> strides(m_entries.size(), 1);
    std::vector<std::size_t> order(m_entries.size());
    for (std::size_t i = m_entries.size(); i-- > 0;) {
        for (const Part& part : m_entries[i].parts)
            counts[i] *= part.shards;
        strides[i] = i + 1 < m_entries.size() ? strides[i + 1] * counts[i + 1] : 1;
        order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return byAxis(m_entries[a], m_entries[b]);
    });
    std::vector<int> shards;
    for (std::int64_t k = 0; k < m_shards; ++k) {
        std::int64_t rest = k, listed = 0;
        for (std::size_t i = order.size(); i-- > 0;) {
            listed += rest % counts[order[i]] * strides[order[i]];
            rest /= counts[order[i]];
        }
        shards.push_back(static_cast<int>(listed));
    }
    return shards;
}

}  // namespace shardwright
