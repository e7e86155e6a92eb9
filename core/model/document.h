// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cancel.h"
#include "model/graph.h"
#include "model/persistent_array.h"
#include "model/result.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace onnx {
class ModelProto;
class DeviceConfigurationProto;
class NodeDeviceConfigurationProto;
}  // namespace onnx

namespace shardwright {

using NodeAnnotation = std::vector<onnx::NodeDeviceConfigurationProto>;
using NodeAnnotations = PersistentArray<std::shared_ptr<const NodeAnnotation>>;

/// All that an edit can change, as protobuf messages, so that what nobody edits is written back
/// as it was. A value: cheap to copy (node annotations are shared), compared by content.
struct Annotations {
    std::vector<onnx::DeviceConfigurationProto> configurations;
    /// metadata_props entries under our keys (`shardwright.mesh.<configuration>` and the like).
    std::map<std::string, std::string> metadata;
    NodeAnnotations nodes;  ///< By NodeId; null = none.
    /// The IR version of the file, or a later one that an edit asks for. Saving annotations that
    /// were changed raises it by itself.
    std::int64_t irVersion = 0;

    Annotations();
    Annotations(const Annotations&);
    Annotations(Annotations&&) noexcept;
    Annotations& operator=(const Annotations&);
    Annotations& operator=(Annotations&&) noexcept;
    ~Annotations();

    /// As a message has them, whose graph `graph` is.
    static Annotations fromProto(const onnx::ModelProto& proto, const GraphIndex& graph);
    /// Equal as serialised messages, whatever the IR version.
    bool sameAs(const Annotations&) const;
};

/// Whether two node annotations say the same; null and empty do.
bool sameAnnotation(const std::shared_ptr<const NodeAnnotation>& a,
                    const std::shared_ptr<const NodeAnnotation>& b);

/// The immutable part of an open model: everything but annotations. Shared by snapshots.
class Model {
public:
    enum class Format { Binary, Text };

    /// Reads a binary or text-format ModelProto; the format is told by content. External data is
    /// not opened. Errors name the file and what is wrong (not a model, truncated, no graph, over 2
    /// GiB).
    static Result<std::shared_ptr<const Model>> load(const std::filesystem::path& path,
                                                     const CancelToken& = {});
    static Result<std::shared_ptr<const Model>>
    fromBytes(std::string bytes, std::filesystem::path path = {}, const CancelToken& = {});
    ~Model();

    const onnx::ModelProto& proto() const { return *m_proto; }  ///< With the annotations as opened.
    const GraphIndex& graph() const { return m_graph; }
    const Annotations& annotations() const { return m_annotations; }  ///< As the file has them.
    const std::filesystem::path& path() const { return m_path; }
    const std::string& bytes() const { return m_bytes; }  ///< The file as read.
    Format format() const { return m_format; }

private:
    Model();
    std::unique_ptr<onnx::ModelProto> m_proto;
    GraphIndex m_graph;
    Annotations m_annotations;
    std::filesystem::path m_path;
    std::string m_bytes;
    Format m_format = Format::Binary;
};

/// Prefix of every metadata key that this program writes.
inline constexpr const char* kMetadataPrefix = "shardwright.";

/// The model with its annotations in their present state. A snapshot is a copy.
struct Document {
    std::shared_ptr<const Model> model;
    Annotations annotations;

    static Result<Document> open(const std::filesystem::path& path, const CancelToken& = {});
    const GraphIndex& graph() const { return model->graph(); }

    /// The ModelProto with the present annotations; ir_version is raised to 11 where annotated.
    onnx::ModelProto toProto() const;
    /// File contents in the opened format: the opened bytes where nothing differs from the file,
    /// else the message of toProto(), in a binary file with every byte but the annotations where it
    /// was.
    Result<std::string> toBytes() const;
    /// Atomic: temporary file in the same folder, flush, rename; keeps the mode; follows a symlink
    /// to its target. External data is not touched; saving into another folder with external data
    /// is refused with the names of what would be lost, unless those files are there too.
    Result<void> save(const std::filesystem::path& path) const;
};

}  // namespace shardwright
