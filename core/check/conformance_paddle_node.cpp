// SPDX-License-Identifier: Apache-2.0
//
// Paddle's operators as ONNX nodes. Most are the same operator with other names for the attributes;
// the rest is a matter of dimensions: operands given transposed, missing leading or trailing ones.

#include "check/conformance_paddle_node.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace shardwright {

namespace {

using Shape = std::vector<std::int64_t>;

struct Reader {
    const Json& json;
    std::vector<Shape> shapes;  ///< Of the case's inputs; unknown sizes replaced.
    PaddleNode result;

    const Json& attrs() const { return json.at("attrs"); }
    Json& onnx() { return result.node.attributes; }
    std::int64_t rank(std::size_t i) const { return static_cast<std::int64_t>(shapes[i].size()); }

    static std::vector<int> dimsFrom(std::size_t count, int first = 0) {
        std::vector<int> dims(count);
        std::iota(dims.begin(), dims.end(), first);
        return dims;
    }

    std::vector<std::int64_t> ints(const char* name) const {
        return attrs().at(name).get<std::vector<std::int64_t>>();
    }
    std::int64_t axis(const char* name, std::int64_t rank) const {
        const auto value = attrs().at(name).get<std::int64_t>();
        return value < 0 ? value + rank : value;
    }
    bool flag(const char* name) const {
        return attrs().contains(name) && attrs()[name] != Json(false) && attrs()[name] != Json(0);
    }
    std::vector<std::int64_t> axes(const char* name, std::int64_t rank) const {
        const Json& value = attrs().at(name);
        std::vector<std::int64_t> list = value.is_array() ? value.get<std::vector<std::int64_t>>()
                                                          : std::vector{value.get<std::int64_t>()};
        for (std::int64_t& a : list)
            a += a < 0 ? rank : 0;
        return list;
    }
};

void swapLast(Reader& r, std::size_t i) {
    Shape& shape = r.shapes[i];
    auto& dims = r.result.inputs[i].dims;
    if (shape.size() < 2)
        return;
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
}

void readMatMul(Reader& r) {
    for (std::size_t i = 0; i < 2; ++i)
        if (r.flag(i == 0 ? "trans_x" : "trans_y"))
            swapLast(r, i);
    // Only mappings matter where the shapes are not those of an operator: the first operand's
    // count.
    Shape &a = r.shapes[0], &b = r.shapes[1];
    b[b.size() >= 2 ? b.size() - 2 : 0] = a.back();
    r.result.traits.largestWins = true;
}

void readReduce(Reader& r) {
    auto axes = r.axes("axis", r.rank(0));
    if (axes.empty()) {
        axes.resize(r.shapes[0].size());
        std::iota(axes.begin(), axes.end(), std::int64_t{0});
    }
    r.onnx() = {{"axes", axes}, {"keepdims", r.flag("keep_dim") ? 1 : 0}};
}

void readReshape(Reader& r) {
    r.onnx() = {{"shape", r.attrs().at("shape")}};
    r.result.keepsUnitAxes = true;
    const auto shape = r.ints("shape");
    for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d] == 0)
            r.result.copied.push_back(d);
}

void readTranspose(Reader& r) {
    r.onnx() = {{"perm", r.axes("perm", r.rank(0))}};
}

void readSlice(Reader& r) {
    r.onnx() = {{"starts", r.attrs().at("starts")},
                {"ends", r.attrs().at("ends")},
                {"axes", r.axes("axes", r.rank(0))}};
}

void readConcat(Reader& r) {
    r.onnx() = {{"axis", r.axis("axis", r.rank(0))}};
    r.result.traits.cheapestInputs = true;
    r.result.traits.keepsOutputs = true;
}

/// Each input gets the new dimension, along which they are then joined.
void readStack(Reader& r) {
    const std::int64_t axis = r.axis("axis", r.rank(0) + 1);
    for (std::size_t i = 0; i < r.shapes.size(); ++i) {
        auto& dims = r.result.inputs[i].dims;
        for (int& d : dims)
            d += d >= axis ? 1 : 0;
        r.shapes[i].insert(r.shapes[i].begin() + std::min(axis, r.rank(i)), 1);
    }
    r.result.node.op = "Concat";
    r.onnx() = {{"axis", axis}};
    r.result.traits.cheapestInputs = true;
    r.result.traits.keepsOutputs = true;
}

void readSplit(Reader& r) {
    const std::int64_t axis = r.axis("axis", r.rank(0));
    if (r.attrs().contains("sections")) {
        r.onnx() = {{"axis", axis}, {"split", r.attrs()["sections"]}};
        r.result.node.outputs = static_cast<int>(r.attrs()["sections"].size());
    } else {
        r.onnx() = {{"axis", axis}, {"num_outputs", r.attrs().at("num")}};
        r.result.node.outputs = r.attrs().at("num").get<int>();
    }
}

void readEmbedding(Reader& r) {
    r.onnx() = {{"axis", 0}};
    r.result.traits.oneFactorAnAxis = true;
}

/// Paddle gathers along an axis with whole rows; a one-dimensional index takes the axis' place.
void readGather(Reader& r) {
    r.onnx() = {{"axis", r.axis("axis", r.rank(0))}};
    r.result.traits.maskedLookup = false;
    r.result.traits.keepsInputs = true;
    r.result.traits.keepsOutputs = true;
}

void readTakeAlongAxis(Reader& r) {
    r.onnx() = {{"axis", r.axis("axis", r.rank(0))}};
    r.result.traits.maskedLookup = false;
    r.result.traits.wholeTakesPart = true;
}

/// The mean and the variance have no dimensions where ONNX keeps ones; scale and bias are flat.
void readLayerNorm(Reader& r) {
    const auto begin = static_cast<std::size_t>(r.axis("begin_norm_axis", r.rank(0)));
    r.onnx() = {{"axis", begin}};
    for (std::size_t i = 1; i < r.shapes.size(); ++i) {
        const Shape flat(r.shapes[0].begin() + static_cast<std::ptrdiff_t>(begin),
                         r.shapes[0].end());
        if (flat.size() != r.shapes[i].size())
            r.result.inputs[i].dims.assign(r.shapes[i].size(), -1);
        r.shapes[i] = flat;
    }
    r.result.node.outputs = 3;
}

/// Axes of other sizes are no axes to be squeezed.
void readSqueeze(Reader& r) {
    auto axes = r.axes("axis", r.rank(0));
    if (axes.empty()) {
        axes.resize(r.shapes[0].size());
        std::iota(axes.begin(), axes.end(), std::int64_t{0});
    }
    std::erase_if(axes, [&](std::int64_t a) {
        return a < 0 || a >= r.rank(0) || r.shapes[0][static_cast<std::size_t>(a)] != 1;
    });
    if (axes.empty())
        r.result.node.op = "Identity";
    else
        r.onnx() = {{"axes", axes}};
}

void readUnsqueeze(Reader& r) {
    const auto count =
        static_cast<std::int64_t>(r.attrs().at("axis").is_array() ? r.attrs()["axis"].size() : 1);
    r.onnx() = {{"axes", r.axes("axis", r.rank(0) + count)}};
}

/// Shorter shapes and shorter repetitions get leading ones.
void readTile(Reader& r) {
    auto repeats = r.ints("repeat_times");
    Shape& shape = r.shapes[0];
    if (repeats.size() < shape.size())
        repeats.insert(repeats.begin(), shape.size() - repeats.size(), 1);
    const std::size_t added = repeats.size() - shape.size();
    shape.insert(shape.begin(), added, 1);
    r.result.inputs[0].dims = Reader::dimsFrom(repeats.size() - added, static_cast<int>(added));
    r.onnx() = {{"repeats", repeats}};
}

/// -1 keeps, which ONNX says with 1.
void readExpand(Reader& r) {
    auto shape = r.ints("shape");
    std::replace(shape.begin(), shape.end(), std::int64_t{-1}, std::int64_t{1});
    r.onnx() = {{"shape", shape}};
}

void readArgMax(Reader& r) {
    r.onnx() = {{"axis", r.axis("axis", r.rank(0))}, {"keepdims", r.flag("keepdims") ? 1 : 0}};
}

void readCumSum(Reader& r) {
    r.onnx() = {{"axis", r.axis("axis", r.rank(0))}};
}

void readTopK(Reader& r) {
    r.onnx() = {{"axis", r.axis("axis", r.rank(0))}, {"K", Json::array({r.attrs().at("k")})}};
    r.result.node.outputs = 2;
}

void readTrilu(Reader& r) {
    r.onnx() = {{"upper", 1}};
}

/// Rows are scattered, one index a row. What lies under them is not asked, and rows are split,
/// which gives partial results of which only the mappings mean anything.
void readScatter(Reader& r) {
    Shape &indices = r.shapes[1], &updates = r.shapes[2];
    updates[0] = indices[0];
    if (indices.size() == 1)
        indices.push_back(1);
    r.result.traits.splitsWhole = true;
    r.result.asked = {1, 2};
}

void readFlatten(Reader& r) {
    const std::int64_t start = r.axis("start_axis", r.rank(0)),
                       stop = r.axis("stop_axis", r.rank(0));
    if (r.result.node.op == "Flatten") {
        r.onnx() = {{"axis", start}};
        return;
    }
    const Shape& in = r.shapes[0];
    Shape out;
    for (std::int64_t d = 0; d < r.rank(0); ++d) {
        const std::int64_t size = in[static_cast<std::size_t>(d)];
        if (d > start && d <= stop)
            out.back() *= size;
        else
            out.push_back(size);
    }
    r.onnx() = {{"shape", out}};
}

void readConv(Reader& r) {
    r.result.traits.reductionsAgree = true;
    const auto copy = [&](const char* from, const char* to) {
        if (r.attrs().contains(from))
            r.onnx()[to] = r.attrs()[from];
    };
    copy("strides", "strides");
    copy("dilations", "dilations");
    copy("groups", "group");
    if (r.attrs().contains("paddings")) {
        Json pads = r.attrs()["paddings"];
        if (pads.is_array() && pads.size() == 2)
            pads = Json::array({pads[0], pads[1], pads[0], pads[1]});
        r.onnx()["pads"] = pads;
    }
}

void readNothing(Reader&) {}
void readSoftmax(Reader& r) {
    r.onnx() = {{"axis", r.axis("axis", r.rank(0))}};
}

/// By the operator names of Paddle's own schema: what each calls its attributes and how it counts
/// dimensions. No rule of an operator is in here: axes go by that of the ONNX operator that comes
/// out, and `traits` say where Paddle's operator goes its own way (docs/conformance.md).
using Read = void (*)(Reader&);
const std::map<std::string, Read>& readers() {
    static const std::map<std::string, Read> table = {{"matmul", readMatMul},
                                                      {"elementwise_binary", readNothing},
                                                      {"elementwise_unary", readNothing},
                                                      {"where", readNothing},
                                                      {"reduce_max", readReduce},
                                                      {"softmax", readSoftmax},
                                                      {"reshape", readReshape},
                                                      {"transpose", readTranspose},
                                                      {"slice", readSlice},
                                                      {"concat", readConcat},
                                                      {"stack", readStack},
                                                      {"split", readSplit},
                                                      {"embedding", readEmbedding},
                                                      {"gather", readGather},
                                                      {"layer_norm", readLayerNorm},
                                                      {"squeeze", readSqueeze},
                                                      {"unsqueeze", readUnsqueeze},
                                                      {"tile", readTile},
                                                      {"expand", readExpand},
                                                      {"argmax", readArgMax},
                                                      {"cumsum", readCumSum},
                                                      {"topk", readTopK},
                                                      {"triu", readTrilu},
                                                      {"scatter", readScatter},
                                                      {"take_along_axis", readTakeAlongAxis},
                                                      {"flatten", readFlatten},
                                                      {"conv2d", readConv}};
    return table;
}

/// Distinct sizes that every axis divides.
void sizeUnknown(std::vector<Shape>& shapes, const AxisSpace& mesh) {
    std::int64_t devices = 1, next = 2;
    for (std::size_t a = 0; a < mesh.axisCount(); ++a)
        devices *= mesh.axisSize(static_cast<int>(a));
    for (Shape& shape : shapes)
        for (std::int64_t& size : shape)
            if (size < 0)
                size = devices * next++;
}

}  // namespace

Result<PaddleNode> readPaddleNode(const Json& json, const AxisSpace& mesh) {
    Reader r{json, {}, {}};
    r.result.node.op = json.at("onnx_op").get<std::string>();
    for (const Json& input : json.at("inputs")) {
        r.shapes.push_back(input.at("shape").get<Shape>());
        r.result.inputs.push_back(
            {r.result.inputs.size(), Reader::dimsFrom(r.shapes.back().size())});
    }
    sizeUnknown(r.shapes, mesh);
    if (r.shapes.empty())
        return Error{"a case without inputs", {}};
    const std::string op = json.at("op").get<std::string>();
    const auto reader = readers().find(op);
    if (reader != readers().end())
        reader->second(r);
    else
        r.onnx() = json.value("onnx_attrs", Json::object());
    NodeCase& node = r.result.node;
    const Json names = json.value("input_names", Json());
    for (std::size_t i = 0; i < r.shapes.size(); ++i) {
        if (names.is_array() && i < names.size()) {
            const int slot = formalInput({}, node.op, names[i].get<std::string>());
            if (slot >= 0)
                r.result.inputs[i].slot = static_cast<std::size_t>(slot);
        }
        const std::size_t slot = r.result.inputs[i].slot;
        node.inputs.resize(std::max(node.inputs.size(), slot + 1));
        node.inputs[slot] = r.shapes[i];
    }
    if (r.result.asked.empty())
        for (const PaddleTensor& input : r.result.inputs)
            r.result.asked.push_back(input.slot);
    return std::move(r.result);
}

}  // namespace shardwright
