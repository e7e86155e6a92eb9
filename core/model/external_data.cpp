// SPDX-License-Identifier: Apache-2.0
#include "model/external_data.h"

#include "model/file_bytes.h"
#include "model/graph_walk.h"
#include "model/shapes.h"
#include "model/tensor_bytes.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>

namespace shardwright {

namespace {

namespace fs = std::filesystem;
using Verdict = ExternalEntry::Verdict;

bool parseNumber(const std::string& text, std::int64_t& out) {
    const char* end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, out);
    return error == std::errc() && last == end && out >= 0;
}

void judge(ExternalEntry& entry, Verdict verdict, std::string reason) {
    // The first thing that is wrong stands.
    if (entry.verdict == Verdict::NotChecked || entry.verdict == Verdict::Ok) {
        entry.verdict = verdict;
        entry.reason = std::move(reason);
    }
}

ExternalEntry readEntry(const onnx::TensorProto& tensor) {
    ExternalEntry entry;
    entry.tensor = tensor.name();
    std::set<std::string_view> keys;
    for (const auto& pair : tensor.external_data()) {
        if (!keys.insert(pair.key()).second) {
            judge(entry, Verdict::RepeatedKey, "'" + pair.key() + "' is given twice");
            continue;
        }
        if (pair.key() == "location")
            entry.location = pair.value();
        else if (pair.key() == "offset" && !parseNumber(pair.value(), entry.offset))
            judge(entry, Verdict::OutOfRange,
                  "the offset '" + pair.value() + "' is not a number of bytes");
        else if (pair.key() == "length" && !parseNumber(pair.value(), entry.length))
            judge(entry, Verdict::OutOfRange,
                  "the length '" + pair.value() + "' is not a number of bytes");
    }
    if (entry.location.empty())
        judge(entry, Verdict::NoLocation, "no file is named");
    return entry;
}

/// What a location leads to, without opening it.
struct Target {
    fs::path path;  ///< Without links.
    std::int64_t size = 0;
    Verdict verdict = Verdict::Ok;
    std::string reason;
};

Verdict judgeStatus(const struct stat& status, std::string& reason) {
    if (!S_ISREG(status.st_mode)) {
        reason = "is not a regular file";
        return Verdict::Outside;
    }
    // A second name of the file may lie anywhere, and then this reads what the model's folder does
    // not own.
    if (status.st_nlink > 1) {
        reason = "is a hard link to a file that has another name";
        return Verdict::Outside;
    }
    return Verdict::Ok;
}

Target findTarget(const std::string& location, const fs::path& folder) {
    Target target;
    const auto refuse = [&](Verdict verdict, std::string reason) {
        target.verdict = verdict;
        target.reason = std::move(reason);
        return target;
    };
    const fs::path relative(location);
    if (location.find('\0') != std::string::npos)
        return refuse(Verdict::Outside, "the name has a NUL byte");
    if (relative.is_absolute())
        return refuse(Verdict::Outside,
                      "is an absolute path; it must be relative to the model's folder");
    for (const fs::path& part : relative) {
        if (part == "..")
            return refuse(Verdict::Outside, "leads out of the model's folder ('..')");
    }
    if (folder.empty())
        return refuse(Verdict::Missing, "the model was not opened from a folder");
    std::error_code error;
    const fs::path root = fs::canonical(folder, error);
    if (error)
        return refuse(Verdict::Missing, "the model's folder is not there");
    target.path = fs::canonical(root / relative, error);
    if (error)
        return refuse(Verdict::Missing, "there is no such file");
    const auto differs =
        std::mismatch(root.begin(), root.end(), target.path.begin(), target.path.end());
    if (differs.first != root.end())
        return refuse(Verdict::Outside, "is a link that leads out of the model's folder");
    struct stat status {};
    if (::lstat(target.path.c_str(), &status) != 0)
        return refuse(Verdict::Missing, "there is no such file");
    target.size = status.st_size;
    target.verdict = judgeStatus(status, target.reason);
    return target;
}

void checkRange(ExternalEntry& entry, const onnx::TensorProto& tensor, std::int64_t fileSize) {
    const auto count = elementCount(tensor);
    if (!count)
        return judge(entry, Verdict::OutOfRange, count.error().message);
    const std::int64_t needed = storageBytes(tensor.data_type(), *count);
    if (needed < 0)
        return judge(entry, Verdict::OutOfRange, "its element type has no bytes of fixed size");
    if (entry.length >= 0 && entry.length != needed)
        return judge(entry, Verdict::OutOfRange,
                     "the length is " + std::to_string(entry.length) +
                         " bytes; the tensor's dims and type need " + std::to_string(needed));
    if (entry.offset > fileSize || needed > fileSize - entry.offset)
        return judge(entry, Verdict::OutOfRange,
                     std::to_string(needed) + " bytes from " + std::to_string(entry.offset) +
                         " go on behind the end of the file (" + std::to_string(fileSize) +
                         " bytes)");
    judge(entry, Verdict::Ok, {});
}

void check(ExternalEntry& entry, const onnx::TensorProto& tensor, const Target& target) {
    if (entry.verdict != Verdict::NotChecked)
        return;
    if (target.verdict != Verdict::Ok)
        return judge(entry, target.verdict, target.reason);
    checkRange(entry, tensor, target.size);
}

template <class Visit>
void forEachExternal(const onnx::ModelProto& model, Visit visit) {
    GraphId graph(0);
    const auto offer = [&](const onnx::TensorProto& tensor) {
        if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
            visit(tensor, graph);
    };
    const auto offerSparse = [&](const onnx::SparseTensorProto& tensor) {
        offer(tensor.values());
        offer(tensor.indices());
    };
    for (const auto& source : listGraphs(model)) {
        if (source.graph != nullptr) {
            for (const auto& tensor : source.graph->initializer())
                offer(tensor);
            for (const auto& tensor : source.graph->sparse_initializer())
                offerSparse(tensor);
        }
        for (const auto& node : *source.nodes) {
            for (const auto& attribute : node.attribute()) {
                if (attribute.has_t())
                    offer(attribute.t());
                for (const auto& tensor : attribute.tensors())
                    offer(tensor);
                if (attribute.has_sparse_tensor())
                    offerSparse(attribute.sparse_tensor());
                for (const auto& tensor : attribute.sparse_tensors())
                    offerSparse(tensor);
            }
        }
        ++graph.value;
    }
}

}  // namespace

std::vector<ExternalEntry> listExternalData(const onnx::ModelProto& model) {
    std::vector<ExternalEntry> entries;
    forEachExternal(model, [&](const onnx::TensorProto& tensor, GraphId graph) {
        entries.push_back(readEntry(tensor));
        entries.back().graph = graph;
    });
    return entries;
}

std::vector<ExternalEntry> checkExternalData(const onnx::ModelProto& model,
                                             const fs::path& modelFolder,
                                             const CancelToken& cancel) {
    std::vector<ExternalEntry> entries;
    std::unordered_map<std::string, Target> targets;  // Thousands of tensors share one file.
    forEachExternal(model, [&](const onnx::TensorProto& tensor, GraphId graph) {
        if (cancel.cancelled())
            return;
        ExternalEntry entry = readEntry(tensor);
        entry.graph = graph;
        const auto [target, added] = targets.try_emplace(entry.location);
        if (added)
            target->second = findTarget(entry.location, modelFolder);
        check(entry, tensor, target->second);
        entries.push_back(std::move(entry));
    });
    return entries;
}

ExternalEntry checkExternalData(const onnx::TensorProto& tensor, const fs::path& modelFolder) {
    ExternalEntry entry = readEntry(tensor);
    check(entry, tensor, findTarget(entry.location, modelFolder));
    return entry;
}

MappedBytes::MappedBytes(MappedBytes&& other) noexcept
    : m_base(std::exchange(other.m_base, nullptr)), m_mapped(other.m_mapped),
      m_bytes(std::exchange(other.m_bytes, {})) {}

MappedBytes& MappedBytes::operator=(MappedBytes&& other) noexcept {
    std::swap(m_base, other.m_base);
    std::swap(m_mapped, other.m_mapped);
    std::swap(m_bytes, other.m_bytes);
    return *this;
}

MappedBytes::~MappedBytes() {
    if (m_base != nullptr)
        ::munmap(m_base, m_mapped);
}

namespace {

class OpenFile {
public:
    explicit OpenFile(int descriptor) : m_descriptor(descriptor) {}
    OpenFile(OpenFile&& other) noexcept : m_descriptor(std::exchange(other.m_descriptor, -1)) {}
    OpenFile& operator=(OpenFile&&) = delete;
    ~OpenFile() {
        if (m_descriptor >= 0)
            ::close(m_descriptor);
    }
    int get() const { return m_descriptor; }
    int release() { return std::exchange(m_descriptor, -1); }

private:
    int m_descriptor;
};

struct OpenExternal {
    OpenFile file;
    std::size_t offset = 0;
    std::size_t size = 0;
};

Error externalError(const onnx::TensorProto& tensor, const std::string& location,
                    const std::string& reason) {
    return {"external data '" + location + "': " + reason, "tensor '" + tensor.name() + "'"};
}

Result<OpenExternal> openExternal(const onnx::TensorProto& tensor, const fs::path& modelFolder) {
    ExternalEntry entry = readEntry(tensor);
    const Target target = findTarget(entry.location, modelFolder);
    check(entry, tensor, target);
    if (entry.verdict != Verdict::Ok)
        return externalError(tensor, entry.location, entry.reason);
    OpenFile file(::open(target.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    // Once more on what was opened: the file may have been exchanged in between.
    struct stat status {};
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0)
        return externalError(tensor, entry.location, std::strerror(errno));
    std::string reason;
    if (judgeStatus(status, reason) != Verdict::Ok)
        return externalError(tensor, entry.location, reason);
    checkRange(entry, tensor, status.st_size);
    if (entry.verdict != Verdict::Ok)
        return externalError(tensor, entry.location, entry.reason);
    const std::int64_t size = storageBytes(tensor.data_type(), *elementCount(tensor));
    return OpenExternal{std::move(file), static_cast<std::size_t>(entry.offset),
                        static_cast<std::size_t>(size)};
}

}  // namespace

Result<MappedBytes> mapExternal(const onnx::TensorProto& tensor, const fs::path& modelFolder) {
    auto opened = openExternal(tensor, modelFolder);
    if (!opened)
        return opened.error();
    MappedBytes mapped;
    if (opened->size == 0)
        return mapped;
    const std::size_t skipped = opened->offset % static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* base = ::mmap(nullptr, opened->size + skipped, PROT_READ, MAP_PRIVATE, opened->file.get(),
                        static_cast<off_t>(opened->offset - skipped));
    if (base == MAP_FAILED)
        return externalError(tensor, readEntry(tensor).location,
                             std::string("cannot be mapped: ") + std::strerror(errno));
    mapped.m_base = base;
    mapped.m_mapped = opened->size + skipped;
    mapped.m_bytes = {static_cast<const char*>(base) + skipped, opened->size};
    return mapped;
}

ExternalFile::ExternalFile(ExternalFile&& other) noexcept
    : m_descriptor(std::exchange(other.m_descriptor, -1)), m_begin(other.m_begin),
      m_size(other.m_size), m_location(std::move(other.m_location)),
      m_tensor(std::move(other.m_tensor)) {}

ExternalFile& ExternalFile::operator=(ExternalFile&& other) noexcept {
    std::swap(m_descriptor, other.m_descriptor);
    m_begin = other.m_begin;
    m_size = other.m_size;
    m_location = std::move(other.m_location);
    m_tensor = std::move(other.m_tensor);
    return *this;
}

ExternalFile::~ExternalFile() {
    if (m_descriptor >= 0)
        ::close(m_descriptor);
}

Result<ExternalFile> ExternalFile::open(const onnx::TensorProto& tensor,
                                        const fs::path& modelFolder) {
    auto opened = openExternal(tensor, modelFolder);
    if (!opened)
        return opened.error();
    ExternalFile file;
    file.m_descriptor = opened->file.release();
    file.m_begin = opened->offset;
    file.m_size = opened->size;
    file.m_location = readEntry(tensor).location;
    file.m_tensor = tensor.name();
    return file;
}

Result<void> ExternalFile::read(std::size_t offset, char* target, std::size_t bytes) const {
    const auto error = [&](const std::string& reason) {
        return Error{"external data '" + m_location + "': " + reason, "tensor '" + m_tensor + "'"};
    };
    if (offset > m_size || bytes > m_size - offset)
        return error("more is read than the tensor has");
    for (std::size_t have = 0; have < bytes;) {
        const ssize_t got = ::pread(m_descriptor, target + have, bytes - have,
                                    static_cast<off_t>(m_begin + offset + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error(got < 0 ? std::strerror(errno)
                                 : "the file became shorter while it was read");
        have += static_cast<std::size_t>(got);
    }
    return {};
}

Result<std::string> readExternal(const onnx::TensorProto& tensor, const fs::path& modelFolder) {
    auto file = ExternalFile::open(tensor, modelFolder);
    if (!file)
        return file.error();
    std::string bytes(file->size(), '\0');
    if (auto read = file->read(0, bytes.data(), bytes.size()); !read)
        return read.error();
    return bytes;
}

}  // namespace shardwright
