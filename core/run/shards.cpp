// SPDX-License-Identifier: Apache-2.0
#include "run/shards.h"

#include "model/shapes.h"
#include "run/element_types.h"
#include "run/npy.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <set>

namespace shardwright {

namespace {

using Json = nlohmann::ordered_json;

struct Statistics {
    double min = std::numeric_limits<double>::infinity(), max = -min, sum = 0, squares = 0;
    std::int64_t finite = 0, notFinite = 0;

    void add(double value) {
        if (!std::isfinite(value)) {
            ++notFinite;
            return;
        }
        ++finite;
        min = std::min(min, value);
        max = std::max(max, value);
        // Welford: large means would swallow the deviation.
        const double delta = value - sum;
        sum += delta / static_cast<double>(finite);
        squares += delta * (value - sum);
    }
};

std::string safeName(const std::string& name, std::set<std::string>& used) {
    std::string safe = name.substr(0, 100);
    for (char& c : safe)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.')
            c = '_';
    if (safe.empty() || safe[0] == '.')
        safe.insert(0, "_");
    std::string unique = safe;
    for (int n = 2; !used.insert(unique).second; ++n)
        unique = safe + "~" + std::to_string(n);
    return unique;
}

Json boxJson(const Box& box) {
    Json dims = Json::array();
    for (const IndexSet& set : box.dims) {
        Json intervals = Json::array();
        for (const auto& interval : set.intervals())
            intervals.push_back({interval.begin, interval.end});
        dims.push_back(std::move(intervals));
    }
    return dims;
}

Result<void> writeFile(const std::filesystem::path& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary);
    file << content;
    file.close();
    return file ? Result<void>{} : Result<void>(Error{"cannot be written", path.string()});
}

}  // namespace

RunShard describeShard(const RunResult::Output& tensor, const RunResult::Piece& piece,
                       bool isOutput, std::int64_t maxValues) {
    RunShard shard;
    shard.tensor = tensor.name;
    shard.output = isOutput;
    shard.device = piece.device;
    shard.elementType = tensor.elementType;
    shard.shape = tensor.shape;
    shard.dims = piece.data.dims();
    for (const IndexSet& set : piece.box.dims) {
        auto& intervals = shard.box.emplace_back();
        for (const auto& interval : set.intervals())
            intervals.emplace_back(interval.begin, interval.end);
    }
    Statistics statistics;
    std::array<double, 1024> block;
    const std::int64_t count = isString(tensor.elementType) ? 0 : piece.data.count();
    for (std::int64_t first = 0; first < count; first += 1024) {
        const std::int64_t n = std::min<std::int64_t>(1024, count - first);
        if (!toDoubles(tensor.elementType, piece.data.data(), first, n, block.data()))
            return shard;
        for (std::int64_t i = 0; i < n; ++i) {
            statistics.add(block[static_cast<std::size_t>(i)]);
            if (first + i < maxValues)
                shard.values.push_back(block[static_cast<std::size_t>(i)]);
        }
    }
    shard.notFinite = statistics.notFinite;
    if (statistics.finite > 0) {
        shard.min = statistics.min;
        shard.max = statistics.max;
        shard.mean = statistics.sum;
        shard.deviation = std::sqrt(statistics.squares / static_cast<double>(statistics.finite));
    }
    return shard;
}

Result<void> saveShards(const std::filesystem::path& folder,
                        const std::vector<const RunResult::Output*>& tensors,
                        const StringPool& strings) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
        return Error{"the folder cannot be made: " + error.message(), folder.string()};
    std::set<std::string> used;
    Json index = Json::array();
    for (const RunResult::Output* tensor : tensors) {
        const std::string name = safeName(tensor->name, used);
        std::map<DeviceId, int> onDevice, written;
        for (const RunResult::Piece& piece : tensor->pieces)
            ++onDevice[piece.device];
        Json shards = Json::array();
        for (const RunResult::Piece& piece : tensor->pieces) {
            std::string file = name + ".dev" + std::to_string(piece.device);
            if (onDevice[piece.device] > 1)
                file += "." + std::to_string(written[piece.device]++);
            file += ".npy";
            auto content = isString(tensor->elementType) ? npyTextFile(piece.data, strings)
                                                         : npyFile(piece.data);
            if (!content)
                return Error{content.error().message, "`" + tensor->name + "`"};
            if (auto wrote = writeFile(folder / file, *content); !wrote)
                return wrote;
            shards.push_back(
                {{"device", piece.device}, {"file", file}, {"box", boxJson(piece.box)}});
        }
        index.push_back({{"tensor", tensor->name},
                         {"type", elementTypeName(tensor->elementType)},
                         {"shape", tensor->shape},
                         {"shards", std::move(shards)}});
    }
    return writeFile(folder / "index.json",
                     index.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace shardwright
