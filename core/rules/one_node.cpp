// SPDX-License-Identifier: Apache-2.0
#include "rules/one_node.h"

#include "rules/examples.h"

#include <onnx/defs/parser.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <optional>

namespace shardwright {

namespace {

constexpr std::size_t kMostElements = 1 << 20;
constexpr int kMostOutputs = 1024;

std::vector<std::string> pieces(const std::string& text) {
    std::vector<std::string> parts;
    if (text.empty())
        return parts;
    for (std::size_t from = 0;;) {
        const std::size_t comma = text.find(',', from);
        parts.push_back(text.substr(from, comma == std::string::npos ? comma : comma - from));
        if (comma == std::string::npos)
            return parts;
        from = comma + 1;
    }
}

template <class T>
std::optional<T> numberIn(const std::string& text) {
    T value{};
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    return parsed.ec == std::errc() && parsed.ptr == end && !text.empty() ? std::optional(value)
                                                                          : std::nullopt;
}

template <class T>
std::optional<std::vector<T>> numbersIn(const std::string& text) {
    std::vector<T> values;
    for (const std::string& piece : pieces(text)) {
        const auto value = numberIn<T>(piece);
        if (!value)
            return std::nullopt;
        values.push_back(*value);
    }
    return values;
}

Error badInput(const std::string& text) {
    return {"expected [TYPE]DIMS[=ELEMENTS], such as 4,8 or int64[2]=8,4, found `" + text + "`",
            "--shape"};
}

/// A type with dimensions: "float[4,8]", from any of the accepted spellings.
std::string typeText(const std::string& text) {
    const std::size_t bracket = text.find('[');
    if (bracket != std::string::npos)
        return text;
    const bool bare = text.empty() || text.front() < 'A';
    return bare ? "float[" + text + "]" : text;
}

bool fill(onnx::TensorProto& tensor, const std::string& elements) {
    using T = onnx::TensorProto;
    std::int64_t count = 1;
    for (const std::int64_t dim : tensor.dims())
        if (dim < 0 || __builtin_mul_overflow(count, dim, &count))
            return false;
    if (count < 0 || static_cast<std::size_t>(count) > kMostElements)
        return false;
    if (tensor.data_type() == T::FLOAT || tensor.data_type() == T::DOUBLE) {
        const auto values = numbersIn<double>(elements);
        if (!values || static_cast<std::int64_t>(values->size()) != count)
            return false;
        for (const double value : *values)
            if (tensor.data_type() == T::FLOAT)
                tensor.add_float_data(static_cast<float>(value));
            else
                tensor.add_double_data(value);
        return true;
    }
    const auto values = numbersIn<std::int64_t>(elements);
    if (!values || static_cast<std::int64_t>(values->size()) != count)
        return false;
    for (const std::int64_t value : *values) {
        switch (tensor.data_type()) {
            case T::INT64: tensor.add_int64_data(value); break;
            case T::UINT32:
            case T::UINT64: tensor.add_uint64_data(static_cast<std::uint64_t>(value)); break;
            case T::INT8:
            case T::UINT8:
            case T::INT16:
            case T::UINT16:
            case T::INT32:
            case T::BOOL: tensor.add_int32_data(static_cast<std::int32_t>(value)); break;
            default: return false;
        }
    }
    return true;
}

std::optional<onnx::TypeProto> parsedType(const std::string& text) {
    const std::string type = typeText(text);
    onnx::TypeProto parsed;
    try {
        if (!onnx::OnnxParser::Parse(parsed, type).IsOK() || !parsed.has_tensor_type())
            return std::nullopt;
    } catch (const std::exception&) {  // The parser's own, of numbers too large for it.
        return std::nullopt;
    }
    for (const auto& dim : parsed.tensor_type().shape().dim())
        if (dim.has_dim_value() && dim.dim_value() < 0)
            return std::nullopt;
    if (type.find('[') == std::string::npos)  // Rank 0, not of unknown rank.
        parsed.mutable_tensor_type()->mutable_shape();
    return parsed;
}

/// Adds a graph input, or an initializer where elements are given.
std::optional<Error> addInput(onnx::GraphProto& graph, const std::string& name,
                              const std::string& text) {
    const std::size_t equals = text.find('=');
    const auto type = parsedType(text.substr(0, equals));
    if (!type)
        return badInput(text);
    const onnx::TypeProto& parsed = *type;
    if (equals == std::string::npos) {
        auto& info = *graph.add_input();
        info.set_name(name);
        *info.mutable_type() = parsed;
        return std::nullopt;
    }
    auto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(parsed.tensor_type().elem_type());
    for (const auto& dim : parsed.tensor_type().shape().dim()) {
        if (!dim.has_dim_value())
            return badInput(text);
        tensor.add_dims(dim.dim_value());
    }
    if (!fill(tensor, text.substr(equals + 1)))
        return badInput(text);
    return std::nullopt;
}

onnx::AttributeProto::AttributeType typeOf(const onnx::OpSchema* schema, const std::string& name,
                                           const std::string& value) {
    using A = onnx::AttributeProto;
    if (schema != nullptr)
        if (const auto at = schema->attributes().find(name); at != schema->attributes().end())
            return at->second.type;
    const bool list = value.find(',') != std::string::npos;
    if (numbersIn<std::int64_t>(value) && !value.empty())
        return list ? A::INTS : A::INT;
    if (numbersIn<double>(value) && !value.empty())
        return list ? A::FLOATS : A::FLOAT;
    return A::STRING;
}

std::optional<Error> addAttribute(onnx::NodeProto& node, const onnx::OpSchema* schema,
                                  const std::string& text) {
    using A = onnx::AttributeProto;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        return Error{"expected NAME=VALUE, found `" + text + "`", "--attr"};
    A attribute;
    attribute.set_name(text.substr(0, equals));
    std::string value = text.substr(equals + 1);
    if (value.size() > 1 && value.front() == '[' && value.back() == ']')
        value = value.substr(1, value.size() - 2);
    attribute.set_type(typeOf(schema, attribute.name(), value));
    const auto ints = numbersIn<std::int64_t>(value);
    const auto reals = numbersIn<float>(value);
    bool fits = true;
    switch (attribute.type()) {
        case A::INT:
            fits = ints && ints->size() == 1;
            attribute.set_i(fits ? ints->front() : 0);
            break;
        case A::FLOAT:
            fits = reals && reals->size() == 1;
            attribute.set_f(fits ? reals->front() : 0);
            break;
        case A::STRING: attribute.set_s(value); break;
        case A::INTS:
            fits = ints.has_value();
            if (fits)
                attribute.mutable_ints()->Add(ints->begin(), ints->end());
            break;
        case A::FLOATS:
            fits = reals.has_value();
            if (fits)
                attribute.mutable_floats()->Add(reals->begin(), reals->end());
            break;
        case A::STRINGS:
            for (const std::string& piece : pieces(value))
                attribute.add_strings(piece);
            break;
        default: fits = false; break;
    }
    if (!fits)
        return Error{"`" + attribute.name() + "` of " + node.op_type() + " is of type " +
                         A::AttributeType_Name(attribute.type()) + ", found `" + value + "`",
                     "--attr"};
    *node.add_attribute() = std::move(attribute);
    return std::nullopt;
}

int outputCount(const NodeRequest& request, const onnx::NodeProto& node,
                const onnx::OpSchema* schema) {
    if (request.outputs > 0)
        return request.outputs;
    for (const auto& attribute : node.attribute())
        if (attribute.name() == "num_outputs")
            return static_cast<int>(std::clamp<std::int64_t>(attribute.i(), 1, kMostOutputs));
    return schema == nullptr ? 1 : std::max(1, schema->min_output());
}

}  // namespace

Result<std::shared_ptr<const Model>> oneNodeModel(const NodeRequest& request) {
    const int opset = request.opset > 0 ? request.opset : newestOpset(request.domain);
    const onnx::OpSchema* schema =
        onnx::OpSchemaRegistry::Schema(request.op, opset, request.domain);
    onnx::ModelProto model;
    model.set_ir_version(10);
    auto& import = *model.add_opset_import();
    import.set_domain(request.domain);
    import.set_version(opset);
    if (!request.domain.empty())
        model.add_opset_import()->set_version(newestOpset(""));
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.set_name(request.op);
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(request.op);
    node.set_domain(request.domain);
    node.set_name(request.op);
    for (std::size_t slot = 0; slot < request.inputs.size(); ++slot) {
        const std::string name = "in" + std::to_string(slot);
        if (request.inputs[slot] == "_") {
            node.add_input("");
            continue;
        }
        node.add_input(name);
        if (auto error = addInput(graph, name, request.inputs[slot]))
            return std::move(*error);
    }
    for (const std::string& attribute : request.attributes)
        if (auto error = addAttribute(node, schema, attribute))
            return std::move(*error);
    const int count = std::max(
        outputCount(request, node, schema),
        static_cast<int>(std::min<std::size_t>(request.outputShapes.size(), kMostOutputs)));
    for (int slot = 0; slot < count; ++slot) {
        node.add_output("out" + std::to_string(slot));
        auto& output = *graph.add_output();
        output.set_name(node.output(slot));
        const auto index = static_cast<std::size_t>(slot);
        if (index >= request.outputShapes.size() || request.outputShapes[index] == "_")
            continue;
        auto type = parsedType(request.outputShapes[index]);
        if (!type)
            return Error{"expected [TYPE]DIMS, found `" + request.outputShapes[index] + "`",
                         "--output-shape"};
        *output.mutable_type() = std::move(*type);
    }
    return Model::fromBytes(model.SerializeAsString());
}

}  // namespace shardwright
