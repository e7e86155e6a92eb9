// SPDX-License-Identifier: Apache-2.0
#include "model/file_bytes.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace shardwright {

namespace {

namespace fs = std::filesystem;

class Descriptor {
public:
    explicit Descriptor(int fd) : m_fd(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (m_fd >= 0)
            ::close(m_fd);
    }
    int get() const { return m_fd; }
    /// Some file systems report a failed write only here.
    bool close() { return ::close(std::exchange(m_fd, -1)) == 0; }

private:
    int m_fd;
};

std::string reason(int code) {
    switch (code) {
        case ENOENT: return "there is no such file or folder";
        case EACCES:
        case EPERM: return "permission denied";
        case ENOSPC: return "the disk is full";
        case EDQUOT: return "the disk quota is used up";
        case EROFS: return "the file system is read-only";
        case EFBIG: return "the file would be larger than this system allows";
        case ENAMETOOLONG: return "the name is too long";
        default: return std::strerror(code);
    }
}

Error failure(const std::string& what, const fs::path& path, int code) {
    return {what + ": " + reason(code), pathText(path)};
}

/// Where a chain of symlinks ends, whether or not there is a file.
Result<fs::path> followLinks(fs::path path) {
    std::error_code error;
    for (int links = 0; links < 40; ++links) {
        if (!fs::is_symlink(fs::symlink_status(path, error)))
            return path;
        const fs::path target = fs::read_symlink(path, error);
        if (error)
            return failure("cannot follow the link", path, error.value());
        path = target.is_absolute() ? target : path.parent_path() / target;
    }
    return Error{"cannot be saved: too many symbolic links", pathText(path)};
}

bool writeAll(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        // Linux writes at most 0x7ffff000 bytes at once.
        const ssize_t written =
            ::write(fd, bytes.data(), std::min<std::size_t>(bytes.size(), 1u << 30));
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

/// Makes a new file beside `target`; open() instead of mkstemp(), which would ignore the umask.
int openTemporary(const fs::path& target, fs::path& temporary) {
    std::random_device random;
    for (int attempt = 0; attempt < 100; ++attempt) {
        char suffix[24];
        std::snprintf(suffix, sizeof suffix, ".%08x.tmp", static_cast<unsigned>(random()));
        // A name near the limit of 255 bytes has no room for a suffix.
        std::string name = target.filename().native().substr(0, 200);
        temporary = target.parent_path() / ("." + name + suffix);
        const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/// The rename itself must reach the disk, too. A file system that cannot do this is no reason to
/// fail.
void flushFolder(const fs::path& file) {
    const fs::path folder = file.parent_path();
    const Descriptor descriptor(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (descriptor.get() >= 0)
        ::fsync(descriptor.get());
}

}  // namespace

std::string pathText(const fs::path& path) {
    return path.native();
}

Result<std::string> readFile(const fs::path& path, std::uint64_t limit, const CancelToken& cancel) {
    // O_NONBLOCK: opening a pipe without a writer would wait forever.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0)
        return failure("cannot be opened", path, errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0)
        return failure("cannot be opened", path, errno);
    if (S_ISDIR(status.st_mode))
        return Error{"is a folder, not a file", pathText(path)};
    if (!S_ISREG(status.st_mode))
        return Error{"is not a regular file", pathText(path)};
    if (static_cast<std::uint64_t>(status.st_size) > limit)
        return Error{"has " + std::to_string(status.st_size) + " bytes; at most " +
                         std::to_string(limit) + " are allowed",
                     pathText(path)};
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t have = 0;
    while (have < bytes.size()) {
        if (cancel.cancelled())
            return Error{"cancelled", pathText(path)};
        const ssize_t got = ::read(file.get(), bytes.data() + have,
                                   std::min<std::size_t>(bytes.size() - have, 16u << 20));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return failure("cannot be read", path, errno);
        if (got == 0)
            break;
        have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
}

Result<void> writeFileAtomically(const fs::path& path, std::string_view bytes) {
    auto followed = followLinks(path);
    if (!followed)
        return followed.error();
    const fs::path& target = *followed;
    struct stat old {};
    const bool exists = ::stat(target.c_str(), &old) == 0;
    if (exists && S_ISDIR(old.st_mode))
        return Error{"cannot be saved: is a folder", pathText(path)};
    if (exists && !S_ISREG(old.st_mode))
        return Error{"cannot be saved: is not a regular file", pathText(path)};

    fs::path temporary;
    Descriptor file(openTemporary(target, temporary));
    if (file.get() < 0) {
        const fs::path folder = target.parent_path().empty() ? fs::path(".") : target.parent_path();
        return Error{"cannot be saved: no file can be made in the folder " + pathText(folder) +
                         ": " + reason(errno),
                     pathText(path)};
    }
    bool ok = writeAll(file.get(), bytes);
    if (ok && exists) {
        // Another owner's file stays theirs where we may do that; the mode afterwards, since chown
        // clears bits of it.
        [[maybe_unused]] const int ignored = ::fchown(file.get(), old.st_uid, old.st_gid);
        ok = ::fchmod(file.get(), old.st_mode & 07777) == 0;
    }
    ok = ok && ::fsync(file.get()) == 0 && file.close() &&
         ::rename(temporary.c_str(), target.c_str()) == 0;
    if (!ok) {
        const int code = errno;
        ::unlink(temporary.c_str());
        return failure("cannot be saved", path, code);
    }
    flushFolder(target);
    return {};
}

}  // namespace shardwright
