// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/shapes.h"
#include "rules/registry.h"
#include "run/executor.h"
#include "run/npz.h"
#include "run/string_pool.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shardwright {

/// Values for all graph inputs: the same for a seed, an input's name and its shape, on every
/// machine. Inputs with a default (an initializer of the same name) get that.
///
/// Element i of input `name` comes from the number r = splitmix64(seed ^ fnv1a(name) ^
/// splitmix64(i)):
///  - floating point: (sum of the four 16-bit parts of r / 65536 - 2) * sqrt(3), nearly N(0, 1), at
///  most 3.46;
///  - bool, and integers that reach a Cast to bool: r's highest bit, but 1 for the first element of
///  each row (so that no row
///    is masked altogether, a causal one neither);
///  - strings: word r mod n of the n words that nodes and weights of the model know, and one that
///    they do not;
///  - integers that index an axis of n elements: r mod n; other integers: 1 + r mod 3.
/// Errors: an input's shape is not known, a type without random values (complex numbers,
/// 8-bit floats).
/// `registry`: what operators read inputs as positions. Without `strings` there are none.
Result<InputSet> randomInputs(const Model& model, const ShapeTable& shapes, std::uint64_t seed,
                              const Registry& registry = Registry::standard(),
                              StringPool* strings = nullptr);

/// Values of graph inputs in files: an .npz with arrays named like the inputs, or a folder of
/// input_K.pb (TensorProto, K the position among the graph inputs), as ONNX's own test data have
/// it.
class InputFiles {
public:
    /// Reads names, types and shapes. Errors: neither of both, unreadable, a name that is no input,
    /// with the names there are.
    /// What strings say goes to `strings`; null: to a pool that nobody sees.
    static Result<InputFiles> open(const std::filesystem::path& path, const Model& model,
                                   std::shared_ptr<StringPool> strings = nullptr);

    struct Entry {
        std::string name;
        std::string typeText;
        std::vector<std::int64_t> dims;
    };
    const std::vector<Entry>& entries() const { return m_entries; }
    bool has(std::string_view name) const;

    /// Sizes of symbolic dimensions (anonymous ones as `input#dim`) that the shapes imply. Errors:
    /// another rank, another size than the model fixes, two sizes for one symbol.
    Result<std::map<std::string, std::int64_t>> bindings(const Model& model) const;
    /// Errors: an input without default is missing, a wrong type or shape, with what was found and
    /// expected.
    Result<InputSet> load(const Model& model, const ShapeTable& shapes) const;

private:
    Result<void> openTensors(const std::filesystem::path& folder, const Model& model);
    Result<Buffer> read(std::size_t entry, std::int32_t elementType) const;

    std::filesystem::path m_path;
    std::vector<Entry> m_entries;
    std::shared_ptr<const NpzFile> m_npz;
    std::vector<Buffer> m_tensors;  ///< Of .pb files.
    std::vector<std::int32_t> m_types;
    std::shared_ptr<StringPool> m_strings;
};

}  // namespace shardwright
