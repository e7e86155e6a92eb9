// SPDX-License-Identifier: Apache-2.0
#include "model/document.h"
#include "model/file_bytes.h"
#include "model/graph_builder.h"
#include "model/model_parser.h"

#include <onnx/onnx_pb.h>

namespace shardwright {

Model::Model() : m_proto(std::make_unique<onnx::ModelProto>()) {}
Model::~Model() = default;

Result<std::shared_ptr<const Model>> Model::load(const std::filesystem::path& path,
                                                 const CancelToken& cancel) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (!error && size > kLargestModel)
        return Error{"has " + std::to_string(size) + " bytes; an ONNX file has at most " +
                         std::to_string(kLargestModel) +
                         " (2 GiB): larger weights must be external data",
                     pathText(path)};
    auto bytes = readFile(path, kLargestModel, cancel);
    if (!bytes)
        return bytes.error();
    return fromBytes(std::move(bytes).value(), path, cancel);
}

Result<std::shared_ptr<const Model>> Model::fromBytes(std::string bytes, std::filesystem::path path,
                                                      const CancelToken& cancel) {
    const std::shared_ptr<Model> model(new Model);
    model->m_bytes = std::move(bytes);
    model->m_path = std::move(path);
    model->m_format = guessFormat(model->m_bytes);
    auto parsed = parseModel(model->m_bytes, model->m_format, *model->m_proto);
    if (!parsed)
        return Error{parsed.error().message, pathText(model->m_path)};
    if (cancel.cancelled())
        return Error{"cancelled", pathText(model->m_path)};
    model->m_graph = buildGraphIndex(*model->m_proto);
    model->m_annotations = Annotations::fromProto(*model->m_proto, model->m_graph);
    return std::shared_ptr<const Model>(model);
}

}  // namespace shardwright
