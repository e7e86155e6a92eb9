// SPDX-License-Identifier: Apache-2.0
#include "run/inputs.h"

#include "run/tensor_buffer.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

namespace shardwright {

namespace {

std::string namesOf(const Model& model) {
    std::string names;
    for (const ValueId id : model.graph().main().inputs)
        names += (names.empty() ? "`" : ", `") + model.graph().value(id).name + "`";
    return names.empty() ? "none" : names;
}

bool isInput(const Model& model, const std::string& name) {
    const auto& inputs = model.graph().main().inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](ValueId id) { return model.graph().value(id).name == name; });
}

/// A TensorProto file in memory.
Result<Buffer> readTensor(const std::filesystem::path& path, StringPool& strings, std::string& name,
                          std::int32_t& elementType) {
    std::ifstream file(path, std::ios::binary);
    onnx::TensorProto tensor;
    if (!file || !tensor.ParseFromIstream(&file))
        return Error{"not a TensorProto", path.string()};
    name = tensor.name();
    elementType = tensor.data_type();
    // A file of inputs has no business with other files.
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
        return Error{"external data is not read for inputs", path.string()};
    auto buffer = tensorBuffer(tensor, {}, strings);
    return buffer ? buffer : Result<Buffer>(Error{buffer.error().message, path.string()});
}

}  // namespace

Result<InputFiles> InputFiles::open(const std::filesystem::path& path, const Model& model,
                                    std::shared_ptr<StringPool> strings) {
    InputFiles files;
    files.m_strings = strings ? std::move(strings) : std::make_shared<StringPool>();
    files.m_path = path;
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        if (auto opened = files.openTensors(path, model); !opened)
            return opened.error();
        return files;
    }
    if (!std::filesystem::exists(path, error))
        return Error{"there is no such file or folder", path.string()};
    auto npz = NpzFile::open(path);
    if (!npz)
        return npz.error();
    for (const NpzFile::Array& array : npz->arrays()) {
        if (!isInput(model, array.name))
            return Error{"array `" + array.name +
                             "` is no input of the model; its inputs: " + namesOf(model),
                         path.string()};
        files.m_entries.push_back({array.name, array.header.typeText(), array.header.dims});
    }
    files.m_npz = std::make_shared<NpzFile>(std::move(*npz));
    return files;
}

Result<void> InputFiles::openTensors(const std::filesystem::path& folder, const Model& model) {
    const auto& inputs = model.graph().main().inputs;
    std::set<std::string> seen;
    std::error_code error;
    for (std::size_t k = 0;; ++k) {
        const auto path = folder / ("input_" + std::to_string(k) + ".pb");
        if (!std::filesystem::exists(path, error)) {
            if (k == 0)
                return Error{"no input_0.pb in this folder", folder.string()};
            return {};
        }
        if (k >= inputs.size())
            return Error{"the model has only " + std::to_string(inputs.size()) +
                             " inputs: " + namesOf(model),
                         path.string()};
        std::string name;
        std::int32_t type = 0;
        auto tensor = readTensor(path, *m_strings, name, type);
        if (!tensor)
            return tensor.error();
        const std::string& expected = model.graph().value(inputs[k]).name;
        if (name.empty())
            name = expected;
        if (!isInput(model, name))
            return Error{"the tensor is named `" + name + "`, expected `" + expected +
                             "`; inputs: " + namesOf(model),
                         path.string()};
        if (!seen.insert(name).second)
            return Error{"a second tensor for input `" + name + "`", path.string()};
        m_entries.push_back({name, elementTypeName(type), tensor->dims()});
        m_types.push_back(type);
        m_tensors.push_back(std::move(*tensor));
    }
}

bool InputFiles::has(std::string_view name) const {
    return std::any_of(m_entries.begin(), m_entries.end(),
                       [&](const Entry& entry) { return entry.name == name; });
}

Result<std::map<std::string, std::int64_t>> InputFiles::bindings(const Model& model) const {
    std::map<std::string, std::int64_t> sizes;
    for (const auto& input : model.proto().graph().input()) {
        const auto entry = std::find_if(m_entries.begin(), m_entries.end(),
                                        [&](const Entry& e) { return e.name == input.name(); });
        if (entry == m_entries.end() || !input.type().tensor_type().has_shape())
            continue;
        const auto& shape = input.type().tensor_type().shape();
        const std::string place = m_path.string() + ", input `" + input.name() + "`";
        if (static_cast<std::size_t>(shape.dim_size()) != entry->dims.size())
            return Error{"found shape " + dimsText(entry->dims) + ", expected " +
                             std::to_string(shape.dim_size()) + " dimensions",
                         place};
        for (int d = 0; d < shape.dim_size(); ++d) {
            const auto& dim = shape.dim(d);
            const std::int64_t found = entry->dims[static_cast<std::size_t>(d)];
            if (dim.has_dim_value()) {
                if (dim.dim_value() != found)
                    return Error{"dimension " + std::to_string(d) + " has " +
                                     std::to_string(found) + " elements, the model wants " +
                                     std::to_string(dim.dim_value()),
                                 place};
                continue;
            }
            const std::string symbol =
                dim.dim_param().empty() ? input.name() + "#" + std::to_string(d) : dim.dim_param();
            const auto [it, added] = sizes.emplace(symbol, found);
            if (!added && it->second != found)
                return Error{"dimension " + std::to_string(d) + " (`" + symbol + "`) has " +
                                 std::to_string(found) + " elements, another input has " +
                                 std::to_string(it->second),
                             place};
        }
    }
    return sizes;
}

Result<Buffer> InputFiles::read(std::size_t entry, std::int32_t elementType) const {
    if (!m_npz)
        return m_tensors[entry];
    if (!isString(elementType))
        return m_npz->read(entry, elementType);
    const auto texts = m_npz->readTexts(entry);
    return texts ? m_strings->buffer(*texts, m_entries[entry].dims) : Result<Buffer>(texts.error());
}

Result<InputSet> InputFiles::load(const Model& model, const ShapeTable& shapes) const {
    InputSet inputs;
    for (const ValueId id : model.graph().main().inputs) {
        const ValueInfo& value = model.graph().value(id);
        const TensorInfo& info = shapes.of(id);
        const std::string expected = elementTypeName(info.elementType) + " " + dimsText(info.dims);
        const std::string place = m_path.string() + ", input `" + value.name + "`";
        std::size_t k = 0;
        while (k < m_entries.size() && m_entries[k].name != value.name)
            ++k;
        if (k == m_entries.size()) {
            if (!value.initializer)
                return Error{"it is missing; expected " + expected, place};
            auto buffer = tensorBuffer(*value.initializer, model.path().parent_path(), *m_strings);
            if (!buffer || buffer->dims() != info.dims)
                return Error{"its default cannot be read", place};
            inputs.emplace(value.name, std::move(*buffer));
            continue;
        }
        const std::int32_t type =
            m_npz ? m_npz->arrays()[k].header.elementType(info.elementType) : m_types[k];
        if (type != info.elementType || m_entries[k].dims != info.dims)
            return Error{"found " + m_entries[k].typeText + " " + dimsText(m_entries[k].dims) +
                             ", expected " + expected,
                         place};
        auto buffer = read(k, type);
        if (!buffer)
            return buffer.error();
        inputs.emplace(value.name, std::move(*buffer));
    }
    return inputs;
}

}  // namespace shardwright
