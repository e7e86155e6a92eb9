// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cancel.h"
#include "model/graph.h"
#include "model/result.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace onnx {
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace shardwright {

/// What a tensor with external data says, and whether we would read it.
struct ExternalEntry {
    enum class Verdict {
        Ok,
        NotChecked,  ///< By listExternalData.
        NoLocation,  ///< The `location` key is missing or empty.
        Missing,     ///< There is no such file.
        Outside,     ///< Absolute, `..`, a link out of the folder, a hard link, not a regular file.
        OutOfRange,  ///< Offset or length is no number, or lies behind the file's end, or not the
                     ///< tensor's size.
        RepeatedKey,  ///< A key is given twice: readers differ in which one they take.
    };
    std::string tensor;
    GraphId graph;  ///< Where the tensor is an initializer or an attribute of a node.
    std::string location;
    std::int64_t offset = 0;
    std::int64_t length = -1;  ///< -1: not given; the tensor's size then.
    Verdict verdict = Verdict::NotChecked;
    std::string reason;  ///< In words, empty for Ok.
};

/// All tensors with external data, in all graphs: initializers and attributes. Opens nothing.
std::vector<ExternalEntry> listExternalData(const onnx::ModelProto& model);

/// The same with verdicts: looks at the files' names, kinds and sizes, reads none. An empty folder
/// (a model that was never saved) makes every verdict Missing.
std::vector<ExternalEntry> checkExternalData(const onnx::ModelProto& model,
                                             const std::filesystem::path& modelFolder,
                                             const CancelToken& cancel = {});

/// One tensor's entry with its verdict.
ExternalEntry checkExternalData(const onnx::TensorProto& tensor,
                                const std::filesystem::path& modelFolder);

/// Bytes of external data by mmap, unmapped at the end. Move-only.
class MappedBytes {
public:
    MappedBytes() = default;
    MappedBytes(MappedBytes&& other) noexcept;
    MappedBytes& operator=(MappedBytes&& other) noexcept;
    ~MappedBytes();

    std::string_view bytes() const { return m_bytes; }

private:
    friend Result<MappedBytes> mapExternal(const onnx::TensorProto&, const std::filesystem::path&);
    void* m_base = nullptr;
    std::size_t m_mapped = 0;
    std::string_view m_bytes;
};

/// The tensor's elements in place. The file is opened below the folder without following a link out
/// of it, and what is checked is what was opened. A file that another program cuts off while it is
/// mapped raises SIGBUS: for worker processes only.
Result<MappedBytes> mapExternal(const onnx::TensorProto& tensor,
                                const std::filesystem::path& modelFolder);

/// The file of a tensor's external data, opened for reads in pieces: what is too large to be held
/// whole, and not hurt by a file that becomes shorter. Move-only.
class ExternalFile {
public:
    /// As mapExternal() opens it.
    static Result<ExternalFile> open(const onnx::TensorProto& tensor,
                                     const std::filesystem::path& modelFolder);
    ExternalFile(ExternalFile&& other) noexcept;
    ExternalFile& operator=(ExternalFile&& other) noexcept;
    ~ExternalFile();

    std::size_t size() const { return m_size; }  ///< Bytes of the tensor.
    /// Bytes of the tensor from `offset` on. Error: the file became shorter, or cannot be read.
    Result<void> read(std::size_t offset, char* target, std::size_t bytes) const;

private:
    ExternalFile() = default;
    int m_descriptor = -1;
    std::size_t m_begin = 0, m_size = 0;
    std::string m_location, m_tensor;
};

/// The same as a copy, which a change of the file cannot hurt.
Result<std::string> readExternal(const onnx::TensorProto& tensor,
                                 const std::filesystem::path& modelFolder);

}  // namespace shardwright
