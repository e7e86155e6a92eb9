// SPDX-License-Identifier: Apache-2.0
#include "model/model_parser.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/wire_format_lite.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace shardwright {

namespace {

namespace io = google::protobuf::io;
using google::protobuf::internal::WireFormatLite;

std::string_view skipBlanksAndComments(std::string_view text) {
    while (!text.empty()) {
        if (std::isspace(static_cast<unsigned char>(text.front())) != 0)
            text.remove_prefix(1);
        else if (text.front() == '#')
            text.remove_prefix(std::min(text.find('\n'), text.size()));
        else
            break;
    }
    return text;
}

/// What people open by mistake.
std::string foundInstead(std::string_view bytes) {
    const std::string_view start = skipBlanksAndComments(bytes);
    if (bytes.starts_with("version https://git-lfs"))
        return "this is a Git LFS pointer; fetch the file itself (git lfs pull)";
    if (bytes.starts_with("PK\x03\x04"))
        return "this is a ZIP archive (a PyTorch checkpoint, or a packed model)";
    if (bytes.starts_with("ORTM") || (bytes.size() > 8 && bytes.substr(4, 4) == "ORTM"))
        return "this is ONNX Runtime's own format (.ort); save the model as ONNX";
    if (bytes.starts_with("\x1f\x8b"))
        return "this is a gzip archive; unpack it first";
    if (start.starts_with("{"))
        return "this looks like JSON; ONNX's binary or protobuf text format is needed";
    if (start.starts_with("<!") || start.starts_with("<html") || start.starts_with("<?xml"))
        return "this is a web page or XML";
    if (start.starts_with("<"))
        return "this looks like ONNX text syntax, which has no words for annotations; binary or "
               "protobuf text format is needed";
    return {};
}

/// Walks over the nesting that a model has at will: graph, node, attribute, graph, ... Stops where
/// the bytes end early. Own stack: this runs on what protobuf refused.
class WireSurvey {
public:
    explicit WireSurvey(std::string_view bytes)
        : m_input(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                  static_cast<int>(bytes.size())),
          m_size(static_cast<int>(bytes.size())) {
        m_open.push_back({m_size, Kind::Model});
        while (!m_open.empty() && step())
            m_deepest = std::max(m_deepest, m_open.size());
    }

    std::size_t deepest() const { return m_deepest; }
    /// Of a field that claims more bytes than there are, else -1.
    int truncatedAt() const { return m_truncatedAt; }

private:
    enum class Kind { Model, Graph, Function, Node, Attribute };
    struct Open {
        int end;
        Kind kind;
    };

    static const Kind* inner(Kind kind, int field) {
        static constexpr Kind graph = Kind::Graph, function = Kind::Function, node = Kind::Node,
                              attribute = Kind::Attribute;
        switch (kind) {
            case Kind::Model:
                return field == onnx::ModelProto::kGraphFieldNumber       ? &graph
                       : field == onnx::ModelProto::kFunctionsFieldNumber ? &function
                                                                          : nullptr;
            case Kind::Graph: return field == onnx::GraphProto::kNodeFieldNumber ? &node : nullptr;
            case Kind::Function:
                return field == onnx::FunctionProto::kNodeFieldNumber ? &node : nullptr;
            case Kind::Node:
                return field == onnx::NodeProto::kAttributeFieldNumber ? &attribute : nullptr;
            case Kind::Attribute:
                return field == onnx::AttributeProto::kGFieldNumber ||
                               field == onnx::AttributeProto::kGraphsFieldNumber
                           ? &graph
                           : nullptr;
        }
        return nullptr;
    }

    bool step() {
        if (m_input.CurrentPosition() >= m_open.back().end) {
            m_open.pop_back();
            return true;
        }
        const int begin = m_input.CurrentPosition();
        const std::uint32_t tag = m_input.ReadTag();
        if (tag == 0)
            return false;
        if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED)
            return WireFormatLite::SkipField(&m_input, tag);
        std::uint32_t length = 0;
        if (!m_input.ReadVarint32(&length))
            return false;
        const std::int64_t end = std::int64_t(m_input.CurrentPosition()) + length;
        if (end > m_size) {
            m_truncatedAt = begin;
            return false;
        }
        if (const Kind* kind = inner(m_open.back().kind, WireFormatLite::GetTagFieldNumber(tag))) {
            m_open.push_back({static_cast<int>(end), *kind});
            return true;
        }
        return m_input.Skip(static_cast<int>(length));
    }

    io::CodedInputStream m_input;
    int m_size;
    std::vector<Open> m_open;
    std::size_t m_deepest = 0;
    int m_truncatedAt = -1;
};

Error binaryFailure(std::string_view bytes) {
    if (std::string instead = foundInstead(bytes); !instead.empty())
        return {"is not an ONNX model: " + instead, {}};
    const WireSurvey survey(bytes);
    if (survey.deepest() > static_cast<std::size_t>(kDeepestMessage))
        return {"nests more than " + std::to_string(kDeepestMessage) + " messages deep (about " +
                    std::to_string(kDeepestMessage / 3) +
                    " bodies of If, Loop or Scan inside each other), which is the limit",
                {}};
    if (survey.truncatedAt() >= 0)
        return {"is not an ONNX model or is cut off: the field at byte " +
                    std::to_string(survey.truncatedAt()) + " goes on behind the end of the file (" +
                    std::to_string(bytes.size()) + " bytes)",
                {}};
    return {"is not an ONNX model: its " + std::to_string(bytes.size()) +
                " bytes are damaged or cut off, are of another format, or nest more than " +
                std::to_string(kDeepestMessage) + " messages deep",
            {}};
}

Result<void> parseBinary(std::string_view bytes, onnx::ModelProto& proto) {
    io::CodedInputStream input(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                               static_cast<int>(bytes.size()));
    input.SetRecursionLimit(kDeepestMessage);
    if (!proto.ParseFromCodedStream(&input) || !input.ConsumedEntireMessage())
        return binaryFailure(bytes);
    return {};
}

class FirstError : public io::ErrorCollector {
public:
    void AddError(int line, io::ColumnNumber column, const std::string& message) override {
        if (m_text.empty())
            m_text = "line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) +
                     ": " + message;
    }
    void AddWarning(int, io::ColumnNumber, const std::string&) override {}
    const std::string& text() const { return m_text; }

private:
    std::string m_text;
};

Result<void> parseText(std::string_view bytes, onnx::ModelProto& proto) {
    FirstError errors;
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&errors);
    parser.SetRecursionLimit(kDeepestMessage);
    io::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()));
    if (!parser.Parse(&input, &proto))
        return Error{"is not an ONNX model in text format: " + errors.text(), {}};
    return {};
}

}  // namespace

Model::Format guessFormat(std::string_view bytes) {
    const std::string_view text = skipBlanksAndComments(bytes.substr(0, 65536));
    std::size_t length = 0;
    while (length < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[length])) != 0 || text[length] == '_'))
        ++length;
    const std::string_view after = skipBlanksAndComments(text.substr(length));
    const bool isField =
        !after.empty() && (after.front() == ':' || after.front() == '{' || after.front() == '<');
    const auto* field =
        onnx::ModelProto::descriptor()->FindFieldByName(std::string(text.substr(0, length)));
    return isField && field != nullptr ? Model::Format::Text : Model::Format::Binary;
}

Result<void> parseModel(std::string_view bytes, Model::Format format, onnx::ModelProto& proto) {
    if (bytes.empty())
        return Error{"is empty; an ONNX model is needed", {}};
    if (bytes.size() > kLargestModel)
        return Error{"has " + std::to_string(bytes.size()) + " bytes; an ONNX file has at most " +
                         std::to_string(kLargestModel) +
                         " (2 GiB): larger weights must be external data",
                     {}};
    auto parsed =
        format == Model::Format::Text ? parseText(bytes, proto) : parseBinary(bytes, proto);
    if (!parsed)
        return parsed;
    if (!proto.has_graph()) {
        const std::string instead = foundInstead(bytes);
        return Error{
            "is not an ONNX model: it has no graph" + (instead.empty() ? "" : "; " + instead), {}};
    }
    return {};
}

}  // namespace shardwright
