// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_files.h"

#include "model/file_bytes.h"
#include "plan/weights.h"

#include <onnx/onnx_pb.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

namespace shardwright {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPlanFile = "plan.json";
constexpr const char* kSharedWeights = "shared.weights";
/// ONNX asks for it, so that weights can be mapped.
constexpr std::int64_t kAlignment = 4096;

/// A file that is written from start to end and brought to the disk.
class NewFile {
public:
    explicit NewFile(fs::path path)
        : m_path(std::move(path)),
          m_fd(::open(m_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
        if (m_fd < 0)
            m_error = errno;
    }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;
    ~NewFile() {
        if (m_fd >= 0)
            ::close(m_fd);
    }

    void write(const char* bytes, std::size_t size) {
        while (size > 0 && m_error == 0) {
            const ssize_t written = ::write(m_fd, bytes, std::min(size, std::size_t{1} << 30));
            if (written < 0 && errno == EINTR)
                continue;
            if (written < 0) {
                m_error = errno;
                return;
            }
            bytes += written;
            size -= static_cast<std::size_t>(written);
            m_size += written;
        }
    }
    /// Goes on at the next multiple of `alignment`.
    void align(std::int64_t alignment) {
        const std::string zeros(
            static_cast<std::size_t>((alignment - m_size % alignment) % alignment), '\0');
        write(zeros.data(), zeros.size());
    }
    std::int64_t size() const { return m_size; }
    Result<void> finish() {
        if (m_error == 0 && ::fsync(m_fd) != 0)
            m_error = errno;
        if (m_error != 0)
            return Error{std::string("cannot be written: ") + std::strerror(m_error),
                         pathText(m_path)};
        return {};
    }

private:
    const fs::path m_path;
    const int m_fd;
    int m_error = 0;
    std::int64_t m_size = 0;
};

/// A folder beside the one that is meant, which becomes it at the end, or goes.
class NewFolder {
public:
    static Result<std::unique_ptr<NewFolder>> make(const fs::path& target) {
        std::string name = (target.parent_path() / ("." + target.filename().string() + ".XXXXXX"));
        if (::mkdtemp(name.data()) == nullptr)
            return Error{std::string("cannot be made: ") + std::strerror(errno), pathText(target)};
        // mkdtemp leaves others out; the umask is to decide.
        const mode_t mask = ::umask(0);
        ::umask(mask);
        ::chmod(name.c_str(), 0777 & ~mask);
        return std::make_unique<NewFolder>(name);
    }
    explicit NewFolder(fs::path path) : m_path(std::move(path)) {}
    NewFolder(const NewFolder&) = delete;
    NewFolder& operator=(const NewFolder&) = delete;
    ~NewFolder() {
        std::error_code error;
        fs::remove_all(m_path, error);
    }
    const fs::path& path() const { return m_path; }

    /// Without `replace` the target must not be there. With it the old folder changes places with
    /// the new one, and goes with it.
    Result<void> become(const fs::path& target, bool replace) const {
        int failed = ::renameat2(AT_FDCWD, m_path.c_str(), AT_FDCWD, target.c_str(),
                                 replace ? RENAME_EXCHANGE : RENAME_NOREPLACE);
        // Not every file system can do that.
        if (failed != 0 && errno == EINVAL) {
            const fs::path old = m_path.string() + ".old";
            failed = replace ? ::rename(target.c_str(), old.c_str()) : 0;
            if (failed == 0)
                failed = ::rename(m_path.c_str(), target.c_str());
            std::error_code ignored;
            if (failed == 0)
                fs::remove_all(old, ignored);
            else if (replace)
                fs::rename(old, target, ignored);
        }
        if (failed != 0)
            return Error{std::string("cannot be made: ") + std::strerror(errno), pathText(target)};
        return {};
    }

private:
    const fs::path m_path;
};

class Writer {
public:
    Writer(const Plan& plan, const Analysis& analysis, fs::path folder,
           const PlanFilesOptions& options, const CancelToken& cancel)
        : m_plan(plan), m_analysis(analysis), m_folder(std::move(folder)), m_options(options),
          m_cancel(cancel), m_source(plan.model->path().parent_path()) {}

    Result<void> run() {
        std::int64_t total = 0;
        for (const Weight& weight : m_plan.weights)
            total += weight.bytes;
        m_inside = total <= m_options.mostInside;
        if (!m_inside)
            if (auto written = writeWeights(); !written)
                return written;
        for (const DeviceProgram& program : m_plan.devices)
            for (const Segment& segment : program.segments)
                if (isWritten(segment)) {
                    if (m_cancel.cancelled())
                        return Error{"cancelled", {}};
                    if (auto written = writeSegment(segment); !written)
                        return written;
                }
        const std::string json = planJson(m_plan, m_analysis)
                                     .dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
        NewFile file(m_folder / kPlanFile);
        file.write(json.data(), json.size());
        file.write("\n", 1);
        return file.finish();
    }

private:
    struct Place {
        std::string file;
        std::int64_t offset = 0;
    };

    /// A weight that several segments of one device read is that device's; of several devices,
    /// shared.
    Result<void> writeWeights() {
        m_places.resize(m_plan.weights.size());
        for (const DeviceProgram& program : m_plan.devices)
            for (const Segment& segment : program.segments)
                for (const Segment::WeightUse& use : segment.weights) {
                    const std::string own = "device_" + std::to_string(program.device) + ".weights";
                    std::string& file = m_places[static_cast<std::size_t>(use.weight)].file;
                    file = file.empty() || file == own ? own : kSharedWeights;
                }
        std::map<std::string, std::unique_ptr<NewFile>> files;
        for (std::size_t i = 0; i < m_places.size(); ++i) {
            auto& file = files[m_places[i].file];
            if (!file)
                file = std::make_unique<NewFile>(m_folder / m_places[i].file);
            file->align(kAlignment);
            m_places[i].offset = file->size();
            auto bytes = read(m_plan.weights[i]);
            if (!bytes)
                return bytes.error();
            file->write(bytes->data(), bytes->size());
            if (m_cancel.cancelled())
                return Error{"cancelled", {}};
        }
        for (auto& [name, file] : files)
            if (auto written = file->finish(); !written)
                return written;
        return {};
    }

    Result<std::string> read(const Weight& weight) const {
        std::string bytes(static_cast<std::size_t>(weight.bytes), '\0');
        if (auto read = readWeight(weight, m_source, reinterpret_cast<std::byte*>(bytes.data()));
            !read)
            return read.error();
        return bytes;
    }

    Result<void> writeSegment(const Segment& segment) const {
        if (segment.weights.empty())
            return write(segmentFile(segment), segment.modelBytes);
        onnx::ModelProto model;
        const std::string name = segmentFile(segment);
        if (!model.ParseFromString(segment.modelBytes))
            return Error{"the plan's model cannot be read", name};
        std::map<std::string, int> weights;
        for (const Segment::WeightUse& use : segment.weights)
            weights[use.name] = use.weight;
        for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
            const auto use = weights.find(tensor.name());
            if (use == weights.end())
                continue;
            if (auto given = giveElements(tensor, use->second); !given)
                return given;
        }
        return write(name, model.SerializeAsString());
    }

    Result<void> giveElements(onnx::TensorProto& tensor, int index) const {
        if (m_inside) {
            auto bytes = read(m_plan.weights[static_cast<std::size_t>(index)]);
            if (!bytes)
                return bytes.error();
            tensor.clear_data_location();
            tensor.clear_external_data();
            tensor.set_raw_data(std::move(*bytes));
            return {};
        }
        const Place& place = m_places[static_cast<std::size_t>(index)];
        for (auto& entry : *tensor.mutable_external_data()) {
            if (entry.key() == "location")
                entry.set_value(place.file);
            else if (entry.key() == "offset")
                entry.set_value(std::to_string(place.offset));
        }
        return {};
    }

    Result<void> write(const std::string& name, const std::string& bytes) const {
        NewFile file(m_folder / name);
        file.write(bytes.data(), bytes.size());
        return file.finish();
    }

    const Plan& m_plan;
    const Analysis& m_analysis;
    const fs::path m_folder;
    const PlanFilesOptions& m_options;
    const CancelToken& m_cancel;
    const fs::path m_source;
    bool m_inside = true;
    std::vector<Place> m_places;  ///< By weight, where they are not inside.
};

/// Whether a folder that is in the way may go: a plan, or nothing in it.
Result<bool> mayReplace(const fs::path& folder, bool replace) {
    std::error_code error;
    const auto status = fs::symlink_status(folder, error);
    if (!fs::exists(status))
        return false;
    if (!fs::is_directory(status))
        return Error{"is there and no folder", pathText(folder)};
    if (!replace)
        return Error{"is there already; --force replaces a plan", pathText(folder)};
    if (!fs::is_empty(folder, error) && !fs::exists(folder / kPlanFile, error))
        return Error{"is there and no plan (it has no plan.json), so it is not replaced",
                     pathText(folder)};
    return true;
}

}  // namespace

Result<void> writePlan(const Plan& plan, const Analysis& analysis, const fs::path& folder,
                       const PlanFilesOptions& options, const CancelToken& cancel) {
    std::error_code error;
    fs::path target = fs::absolute(folder, error).lexically_normal();
    if (!target.has_filename())
        target = target.parent_path();  // "plan/"
    const auto replaces = mayReplace(target, options.replace);
    if (!replaces)
        return replaces.error();
    auto fresh = NewFolder::make(target);
    if (!fresh)
        return fresh.error();
    if (auto written = Writer(plan, analysis, (*fresh)->path(), options, cancel).run(); !written)
        return written;
    return (*fresh)->become(target, *replaces);
}

}  // namespace shardwright
