// SPDX-License-Identifier: Apache-2.0
//
// Protobuf's wire format is a sequence of fields, and a message inside is a field with its length
// before it. So new annotations go in by copying fields, and by writing anew the lengths of the
// messages around them: model, graph, node, and for a body attribute, graph, node, ... This
// recurses as deep as bodies nest, which the parser has limited.

#include "model/annotation_splice.h"

#include "model/annotation_writer.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <deque>
#include <string_view>
#include <vector>

namespace shardwright {

namespace {

constexpr int kLengthDelimited = 2;

/// Text in pieces, most of them parts of the opened file, so that weights are copied only at the
/// end.
class Rope {
public:
    void add(std::string_view piece) {
        m_size += piece.size();
        // Fields that follow each other in the file are one piece.
        if (!m_pieces.empty() && m_pieces.back().data() + m_pieces.back().size() == piece.data())
            m_pieces.back() = {m_pieces.back().data(), m_pieces.back().size() + piece.size()};
        else
            m_pieces.push_back(piece);
    }
    void addOwned(std::string text) {
        m_owned.push_back(std::move(text));
        m_size += m_owned.back().size();
        m_pieces.push_back(m_owned.back());
    }
    void addNested(Rope inner) {
        m_size += inner.m_size;
        m_pieces.insert(m_pieces.end(), inner.m_pieces.begin(), inner.m_pieces.end());
        // Moving a string may move its characters; moving the deque that holds it does not.
        m_kept.push_back(std::move(inner.m_owned));
        for (auto& kept : inner.m_kept)
            m_kept.push_back(std::move(kept));
    }
    std::size_t size() const { return m_size; }
    std::string text() const {
        std::string text;
        text.reserve(m_size);
        for (const std::string_view piece : m_pieces)
            text.append(piece);
        return text;
    }

private:
    std::vector<std::string_view> m_pieces;
    std::deque<std::string> m_owned;
    std::deque<std::deque<std::string>> m_kept;
    std::size_t m_size = 0;
};

std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7)
        bytes.push_back(static_cast<char>((value & 0x7f) | 0x80));
    bytes.push_back(static_cast<char>(value));
    return bytes;
}

std::string header(int field, std::size_t size) {
    return varint(static_cast<std::uint64_t>(field) << 3 | kLengthDelimited) + varint(size);
}

template <class Message>
void addMessage(Rope& rope, int field, const Message& message) {
    const std::string payload = message.SerializePartialAsString();
    rope.addOwned(header(field, payload.size()) + payload);
}

struct Field {
    int number = 0;
    int wireType = 0;
    std::string_view whole;
    std::string_view payload;  ///< Of a length-delimited field.

    bool is(int field) const { return number == field && wireType == kLengthDelimited; }
};

class FieldReader {
public:
    explicit FieldReader(std::string_view bytes) : m_rest(bytes) {}

    bool next(Field& field) {
        const std::string_view begin = m_rest;
        std::uint64_t tag = 0;
        if (m_rest.empty() || m_odd)
            return false;
        if (!readVarint(tag) || tag > 0xffffffffu)
            return odd();
        field.number = static_cast<int>(tag >> 3);
        field.wireType = static_cast<int>(tag & 7);
        std::uint64_t length = 0;
        switch (field.wireType) {
            case 0:
                if (!readVarint(length))
                    return odd();
                length = 0;
                break;
            case 1: length = 8; break;
            case 5: length = 4; break;
            case kLengthDelimited:
                if (!readVarint(length))
                    return odd();
                break;
            default: return odd();
        }
        if (length > m_rest.size())
            return odd();
        field.payload = m_rest.substr(0, length);
        m_rest.remove_prefix(length);
        field.whole = begin.substr(0, begin.size() - m_rest.size());
        return true;
    }
    bool isOdd() const { return m_odd; }

private:
    bool odd() {
        m_odd = true;
        return false;
    }

    bool readVarint(std::uint64_t& value) {
        value = 0;
        for (int shift = 0; shift < 64 && !m_rest.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(m_rest.front());
            m_rest.remove_prefix(1);
            value |= std::uint64_t(byte & 0x7fu) << shift;
            if (byte < 0x80)
                return true;
        }
        return false;
    }

    std::string_view m_rest;
    bool m_odd = false;
};

class Splicer {
public:
    Splicer(const Model& model, const Annotations& annotations)
        : m_model(model), m_index(model.graph()), m_annotations(annotations) {
        const Annotations before = model.annotations();
        m_changed.resize(m_index.nodes.size(), false);
        m_touched.resize(m_index.graphs.size(), false);
        for (const NodeId id : changedNodes(before, annotations)) {
            m_changed[id.index()] = true;
            for (GraphId graph = m_index.node(id).graph; graph && !m_touched[graph.index()];) {
                m_touched[graph.index()] = true;
                const NodeId owner = m_index.graph(graph).owner;
                graph = owner ? m_index.node(owner).graph : GraphId();
            }
        }
        m_fields.set_ir_version(model.proto().ir_version());
        *m_fields.mutable_configuration() = model.proto().configuration();
        *m_fields.mutable_metadata_props() = model.proto().metadata_props();
        writeModelFields(before, annotations, m_fields);
    }

    std::optional<std::string> splice() {
        const Rope rope = spliceModel();
        if (m_odd)
            return std::nullopt;
        return rope.text();
    }

private:
    using M = onnx::ModelProto;

    template <class List>
    static bool same(const List& a, const List& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
            return x.SerializePartialAsString() == y.SerializePartialAsString();
        });
    }

    Rope spliceModel() {
        const bool newConfigurations =
            !same(m_fields.configuration(), m_model.proto().configuration());
        const bool newMetadata = !same(m_fields.metadata_props(), m_model.proto().metadata_props());
        const bool newVersion = m_fields.ir_version() != m_model.proto().ir_version();
        Rope rope;
        bool configurationsWritten = !newConfigurations;
        bool metadataWritten = !newMetadata;
        bool versionWritten = !newVersion;
        int graphs = 0;
        GraphId function(0);
        FieldReader reader(m_model.bytes());
        for (Field field; reader.next(field);) {
            if (field.is(M::kGraphFieldNumber)) {
                m_odd = m_odd || ++graphs > 1;
                addGraph(rope, field, GraphId(0), onnx::GraphProto::kNodeFieldNumber);
            } else if (field.is(M::kFunctionsFieldNumber)) {
                ++function.value;
                addGraph(rope, field, function, onnx::FunctionProto::kNodeFieldNumber);
            } else if (newConfigurations && field.is(M::kConfigurationFieldNumber)) {
                writeOnce(configurationsWritten, [&] { addConfigurations(rope); });
            } else if (newMetadata && field.is(M::kMetadataPropsFieldNumber)) {
                writeOnce(metadataWritten, [&] { addMetadata(rope); });
            } else if (newVersion && field.number == M::kIrVersionFieldNumber &&
                       field.wireType == 0) {
                writeOnce(versionWritten, [&] { addVersion(rope); });
            } else {
                rope.add(field.whole);
            }
        }
        m_odd = m_odd || reader.isOdd();
        writeOnce(versionWritten, [&] { addVersion(rope); });
        writeOnce(metadataWritten, [&] { addMetadata(rope); });
        writeOnce(configurationsWritten, [&] { addConfigurations(rope); });
        return rope;
    }

    template <class Write>
    static void writeOnce(bool& written, Write write) {
        if (!written)
            write();
        written = true;
    }

    void addVersion(Rope& rope) const {
        rope.addOwned(varint(M::kIrVersionFieldNumber << 3) +
                      varint(static_cast<std::uint64_t>(m_fields.ir_version())));
    }
    void addMetadata(Rope& rope) const {
        for (const auto& entry : m_fields.metadata_props())
            addMessage(rope, M::kMetadataPropsFieldNumber, entry);
    }
    void addConfigurations(Rope& rope) const {
        for (const auto& configuration : m_fields.configuration())
            addMessage(rope, M::kConfigurationFieldNumber, configuration);
    }

    static void addNested(Rope& rope, const Field& field, Rope inner) {
        rope.addOwned(header(field.number, inner.size()));
        rope.addNested(std::move(inner));
    }

    void addGraph(Rope& rope, const Field& field, GraphId id, int nodeField) {
        if (id.index() >= m_touched.size() || !m_touched[id.index()])
            return rope.add(field.whole);
        const std::vector<NodeId>& nodes = m_index.graph(id).nodes;
        Rope inner;
        std::size_t next = 0;
        FieldReader reader(field.payload);
        for (Field part; reader.next(part);) {
            if (part.is(nodeField) && next < nodes.size())
                addNode(inner, part, m_index.node(nodes[next++]));
            else
                inner.add(part.whole);
        }
        m_odd = m_odd || reader.isOdd() || next != nodes.size();
        addNested(rope, field, std::move(inner));
    }

    void addNode(Rope& rope, const Field& field, const NodeInfo& node) {
        bool inside = false;
        for (const GraphId body : node.bodies)
            inside = inside || m_touched[body.index()];
        const bool changed = m_changed[node.id.index()];
        if (!changed && !inside)
            return rope.add(field.whole);
        Rope inner;
        bool written = !changed;
        std::size_t nextBody = 0;
        FieldReader reader(field.payload);
        for (Field part; reader.next(part);) {
            if (changed && part.is(onnx::NodeProto::kDeviceConfigurationsFieldNumber))
                writeOnce(written, [&] { addAnnotation(inner, node.id); });
            else if (inside && part.is(onnx::NodeProto::kAttributeFieldNumber))
                addAttribute(inner, part, node, nextBody);
            else
                inner.add(part.whole);
        }
        writeOnce(written, [&] { addAnnotation(inner, node.id); });
        m_odd = m_odd || reader.isOdd() || (inside && nextBody != node.bodies.size());
        addNested(rope, field, std::move(inner));
    }

    void addAnnotation(Rope& rope, NodeId id) const {
        const auto& annotation =
            id.index() < m_annotations.nodes.size() ? m_annotations.nodes[id.index()] : nullptr;
        if (annotation == nullptr)
            return;
        for (const auto& configuration : *annotation)
            addMessage(rope, onnx::NodeProto::kDeviceConfigurationsFieldNumber, configuration);
    }

    void addAttribute(Rope& rope, const Field& field, const NodeInfo& node, std::size_t& nextBody) {
        Rope inner;
        int single = 0;
        int listed = 0;
        FieldReader reader(field.payload);
        for (Field part; reader.next(part);) {
            const bool isSingle = part.is(onnx::AttributeProto::kGFieldNumber);
            const bool isListed = part.is(onnx::AttributeProto::kGraphsFieldNumber);
            single += isSingle ? 1 : 0;
            listed += isListed ? 1 : 0;
            if ((isSingle || isListed) && nextBody < node.bodies.size())
                addGraph(inner, part, node.bodies[nextBody++], onnx::GraphProto::kNodeFieldNumber);
            else
                inner.add(part.whole);
        }
        // Bodies are numbered with the single one first.
        m_odd = m_odd || reader.isOdd() || single > 1 || (single > 0 && listed > 0);
        addNested(rope, field, std::move(inner));
    }

    const Model& m_model;
    const GraphIndex& m_index;
    const Annotations& m_annotations;
    std::vector<bool> m_changed;  ///< By NodeId.
    std::vector<bool> m_touched;  ///< By GraphId: something inside changes.
    onnx::ModelProto m_fields;    ///< The new configurations, metadata and version.
    bool m_odd = false;
};

}  // namespace

std::optional<std::string> spliceAnnotations(const Model& model, const Annotations& annotations) {
    return Splicer(model, annotations).splice();
}

}  // namespace shardwright
