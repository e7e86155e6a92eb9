// SPDX-License-Identifier: Apache-2.0
#include "model/document.h"

#include "model/annotation_splice.h"
#include "model/annotation_writer.h"
#include "model/external_data.h"
#include "model/file_bytes.h"
#include "model/model_parser.h"

#include <google/protobuf/text_format.h>
#include <onnx/onnx_pb.h>

#include <set>

namespace shardwright {

namespace {

namespace fs = std::filesystem;

fs::path folderOf(const fs::path& file) {
    std::error_code error;
    const fs::path absolute = fs::absolute(file, error).parent_path();
    const fs::path resolved = fs::weakly_canonical(absolute, error);
    return error ? absolute : resolved;
}

/// Files with weights that would not lie beside the model any more.
std::set<std::string> leftBehind(const Model& model, const fs::path& folder) {
    std::set<std::string> missing;
    const fs::path from = model.path().empty() ? fs::path() : folderOf(model.path());
    if (!from.empty() && from == folder)
        return missing;
    std::set<std::string> seen;
    for (const ExternalEntry& entry : listExternalData(model.proto())) {
        std::error_code error;
        if (!seen.insert(entry.location).second)
            continue;
        const fs::path there = folder / entry.location;
        // A file of the same name with another size cannot be the same weights.
        const bool present = fs::is_regular_file(there, error);
        const auto size = present ? fs::file_size(there, error) : 0;
        const auto original = from.empty() ? size : fs::file_size(from / entry.location, error);
        if (!present || (!error && size != original))
            missing.insert(entry.location);
    }
    return missing;
}

std::string joined(const std::set<std::string>& names) {
    constexpr std::size_t kShown = 5;
    std::string text;
    std::size_t shown = 0;
    for (const std::string& name : names) {
        if (shown++ == kShown)
            return text + " and " + std::to_string(names.size() - kShown) + " more";
        text += (text.empty() ? "" : ", ") + name;
    }
    return text;
}

}  // namespace

Result<Document> Document::open(const fs::path& path, const CancelToken& cancel) {
    auto model = Model::load(path, cancel);
    if (!model)
        return model.error();
    Document document{std::move(model).value(), {}};
    document.annotations = document.model->annotations();
    return document;
}

onnx::ModelProto Document::toProto() const {
    onnx::ModelProto proto = model->proto();
    writeAnnotations(*model, annotations, proto);
    return proto;
}

Result<std::string> Document::toBytes() const {
    if (annotations.irVersion <= model->proto().ir_version() &&
        annotations.sameAs(model->annotations()))
        return model->bytes();
    if (model->format() == Model::Format::Text) {
        std::string text;
        google::protobuf::TextFormat::Printer printer;
        printer.SetUseUtf8StringEscaping(true);
        if (!printer.PrintToString(toProto(), &text))
            return Error{"cannot be written in text format", pathText(model->path())};
        return text;
    }
    const auto tooLarge = [&](std::size_t size) {
        return Error{"would have " + std::to_string(size) +
                         " bytes with these annotations; an ONNX file has at most " +
                         std::to_string(kLargestModel) + " (2 GiB)",
                     pathText(model->path())};
    };
    if (auto spliced = spliceAnnotations(*model, annotations)) {
        if (spliced->size() > kLargestModel)
            return tooLarge(spliced->size());
        return std::move(*spliced);
    }
    const onnx::ModelProto proto = toProto();
    if (proto.ByteSizeLong() > kLargestModel)
        return tooLarge(proto.ByteSizeLong());
    std::string bytes;
    if (!proto.SerializePartialToString(&bytes))
        return Error{"cannot be serialised", pathText(model->path())};
    return bytes;
}

Result<void> Document::save(const fs::path& path) const {
    const std::set<std::string> missing = leftBehind(*model, folderOf(path));
    if (!missing.empty())
        return Error{"cannot be saved there: the model reads its weights from files that are not "
                     "in that folder (" +
                         joined(missing) +
                         "); copy them there first, or save beside the opened model",
                     pathText(path)};
    auto bytes = toBytes();
    if (!bytes)
        return bytes.error();
    return writeFileAtomically(path, *bytes);
}

}  // namespace shardwright
