// SPDX-License-Identifier: Apache-2.0
#include "model/weights_in_file.h"

#include "model/external_data.h"
#include "model/model_parser.h"

#include <onnx/onnx_pb.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace shardwright {

namespace {

// Fields of onnx.proto.
constexpr std::uint64_t kModelGraph = 7, kGraphInitializer = 5, kTensorRawData = 9,
                        kTensorExternalData = 13, kTensorDataLocation = 14;
constexpr std::uint64_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;
/// Shape arithmetic and the like looks at small tensors.
constexpr std::uint64_t kSmall = std::uint64_t{64} << 10;

void putVarint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
}
void putField(std::string& out, std::uint64_t field, const std::string& bytes) {
    putVarint(out, field << 3 | kBytes);
    putVarint(out, bytes.size());
    out += bytes;
}

/// A file that is read from front to back, with jumps.
class FileReader {
public:
    explicit FileReader(const std::filesystem::path& path)
        : m_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        struct stat status {};
        if (m_fd >= 0 && ::fstat(m_fd, &status) == 0 && S_ISREG(status.st_mode))
            m_size = static_cast<std::uint64_t>(status.st_size);
        m_ok = m_size > 0;
    }
    FileReader(const FileReader&) = delete;
    FileReader& operator=(const FileReader&) = delete;
    ~FileReader() {
        if (m_fd >= 0)
            ::close(m_fd);
    }

    bool ok() const { return m_ok; }
    std::uint64_t size() const { return m_size; }
    std::uint64_t at() const { return m_at; }
    void fail() { m_ok = false; }

    /// Up to `bytes` bytes from here on, without moving on.
    std::string_view peek(std::uint64_t bytes) {
        bytes = std::min(bytes, m_size - m_at);
        if (m_at < m_begin || m_at + bytes > m_begin + m_window.size()) {
            m_begin = m_at;
            m_window.resize(std::max(bytes, std::min(kWindow, m_size - m_at)));
            for (std::size_t have = 0; have < m_window.size();) {
                const ssize_t got = ::pread(m_fd, m_window.data() + have, m_window.size() - have,
                                            static_cast<off_t>(m_begin + have));
                if (got < 0 && errno == EINTR)
                    continue;
                if (got <= 0) {
                    m_window.clear();
                    m_ok = false;
                    return {};
                }
                have += static_cast<std::size_t>(got);
            }
        }
        return std::string_view(m_window).substr(m_at - m_begin, bytes);
    }
    void skip(std::uint64_t bytes) {
        if (bytes > m_size - m_at)
            m_ok = false;
        else
            m_at += bytes;
    }
    void rewind(std::uint64_t to) { m_at = to; }
    std::uint64_t varint() {
        std::uint64_t value = 0;
        const std::string_view bytes = peek(10);
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            const auto byte = static_cast<unsigned char>(bytes[i]);
            value |= std::uint64_t{byte & 0x7fU} << (7 * i);
            if (byte < 0x80) {
                skip(i + 1);
                return value;
            }
        }
        m_ok = false;
        return 0;
    }

private:
    static constexpr std::uint64_t kWindow = std::uint64_t{1} << 16;
    const int m_fd;
    std::uint64_t m_size = 0, m_at = 0, m_begin = 0;
    std::string m_window;
    bool m_ok = false;
};

class Skeleton {
public:
    explicit Skeleton(const std::filesystem::path& path)
        : m_file(path), m_name(path.filename().string()) {}

    /// Nothing left out: there is nothing to gain.
    std::optional<std::string> run() {
        std::string model = message(m_file.size(), kModelGraph, &Skeleton::graph);
        if (!m_file.ok() || !m_left)
            return std::nullopt;
        return model;
    }

private:
    /// Copies the fields up to `end`, but those with number `changed`, which `change` writes anew.
    std::string message(std::uint64_t end, std::uint64_t changed,
                        std::string (Skeleton::*change)(std::uint64_t)) {
        std::string out;
        while (m_file.ok() && m_file.at() < end) {
            const std::uint64_t tag = m_file.varint();
            const std::uint64_t length = lengthOf(tag & 7);
            if (!m_file.ok() || m_file.at() > end || length > end - m_file.at()) {
                m_file.fail();
                return {};
            }
            if (tag == (changed << 3 | kBytes)) {
                putField(out, changed, (this->*change)(m_file.at() + length));
                continue;
            }
            copyField(out, tag, length);
        }
        return out;
    }

    std::string graph(std::uint64_t end) {
        return message(end, kGraphInitializer, &Skeleton::tensor);
    }

    std::string tensor(std::uint64_t end) {
        std::string out;
        std::uint64_t begin = 0, bytes = 0;
        int raw = 0;
        bool external = false;
        const std::uint64_t from = m_file.at();
        while (m_file.ok() && m_file.at() < end) {
            const std::uint64_t tag = m_file.varint();
            const std::uint64_t length = lengthOf(tag & 7);
            if (!m_file.ok() || m_file.at() > end || length > end - m_file.at()) {
                m_file.fail();
                return {};
            }
            external =
                external || tag >> 3 == kTensorExternalData || tag >> 3 == kTensorDataLocation;
            if (tag == (kTensorRawData << 3 | kBytes)) {
                begin = m_file.at();
                bytes = length;
                ++raw;
                m_file.skip(length);
                continue;
            }
            copyField(out, tag, length);
        }
        if (raw != 1 || external || bytes <= kSmall) {
            if (raw == 0)
                return out;
            return again(from, end);
        }
        m_left = true;
        putVarint(out, kTensorDataLocation << 3 | kVarint);
        putVarint(out, onnx::TensorProto::EXTERNAL);
        const std::pair<const char*, std::string> entries[] = {{"location", m_name},
                                                               {"offset", std::to_string(begin)},
                                                               {"length", std::to_string(bytes)}};
        for (const auto& [key, value] : entries) {
            onnx::StringStringEntryProto entry;
            entry.set_key(key);
            entry.set_value(value);
            putField(out, kTensorExternalData, entry.SerializeAsString());
        }
        return out;
    }

    /// The bytes from `from` to `end` as they are.
    std::string again(std::uint64_t from, std::uint64_t end) {
        m_file.rewind(from);
        std::string out;
        copyBytes(out, end - from);
        return out;
    }

    /// What follows a tag; a varint is measured, not read.
    std::uint64_t lengthOf(std::uint64_t wireType) {
        switch (wireType) {
            case kVarint: {
                const std::string_view bytes = m_file.peek(10);
                const auto last = std::find_if(bytes.begin(), bytes.end(), [](char byte) {
                    return static_cast<unsigned char>(byte) < 0x80;
                });
                if (last == bytes.end())
                    m_file.fail();
                return static_cast<std::uint64_t>(last - bytes.begin()) + 1;
            }
            case kFixed64: return 8;
            case kFixed32: return 4;
            case kBytes: return m_file.varint();
            default: m_file.fail(); return 0;  // Groups.
        }
    }

    void copyField(std::string& out, std::uint64_t tag, std::uint64_t length) {
        putVarint(out, tag);
        if ((tag & 7) == kBytes)
            putVarint(out, length);
        copyBytes(out, length);
    }

    void copyBytes(std::string& out, std::uint64_t length) {
        while (m_file.ok() && length > 0) {
            const std::string_view bytes =
                m_file.peek(std::min<std::uint64_t>(length, std::uint64_t{1} << 16));
            if (bytes.empty())
                m_file.fail();
            out += bytes;
            m_file.skip(bytes.size());
            length -= bytes.size();
        }
    }

    FileReader m_file;
    const std::string m_name;
    bool m_left = false;  ///< Some raw data was left out.
};

/// Whether external data may be read from this file.
bool mayHoldWeights(const std::filesystem::path& path) {
    onnx::TensorProto nothing;
    nothing.set_data_type(onnx::TensorProto::UINT8);
    nothing.add_dims(0);
    nothing.set_data_location(onnx::TensorProto::EXTERNAL);
    auto& entry = *nothing.add_external_data();
    entry.set_key("location");
    entry.set_value(path.filename().string());
    return checkExternalData(nothing, path.parent_path()).verdict == ExternalEntry::Verdict::Ok;
}

}  // namespace

std::optional<std::string> withoutWeights(const std::filesystem::path& path) {
    if (!mayHoldWeights(path))
        return std::nullopt;
    {
        FileReader file(path);
        if (!file.ok() || file.size() > kLargestModel ||
            guessFormat(file.peek(65536)) == Model::Format::Text)
            return std::nullopt;
    }
    return Skeleton(path).run();
}

Result<std::shared_ptr<const Model>> loadWithoutWeights(const std::filesystem::path& path,
                                                        const CancelToken& cancel) {
    // External data is looked for in the model's folder, which has to have a name.
    const auto named = path.has_parent_path() ? path : "." / path;
    auto bytes = withoutWeights(named);
    return bytes ? Model::fromBytes(std::move(*bytes), named, cancel) : Model::load(named, cancel);
}

}  // namespace shardwright
