// SPDX-License-Identifier: Apache-2.0
#include "run/npz.h"

#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>

namespace shardwright {

namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50,
                        kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr std::uint64_t kMaxDirectory = 64u << 20;

std::uint64_t number(std::string_view bytes, std::size_t offset, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;)
        value = value << 8 | static_cast<unsigned char>(bytes[offset + i]);
    return value;
}

/// Exactly `bytes` bytes, or nothing.
std::optional<std::string> readAt(std::ifstream& file, std::uint64_t offset, std::uint64_t bytes) {
    std::string data(bytes, '\0');
    file.clear();
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(data.data(), static_cast<std::streamsize>(bytes));
    if (static_cast<std::uint64_t>(file.gcount()) != bytes)
        return std::nullopt;
    return data;
}

}  // namespace

class ZipReader {
public:
    explicit ZipReader(NpzFile& npz) : m_npz(npz), m_file(npz.m_path, std::ios::binary) {}

    Result<void> read() {
        std::error_code error;
        if (!m_file || !std::filesystem::is_regular_file(m_npz.m_path, error))
            return fail("cannot be read");
        m_size = std::filesystem::file_size(m_npz.m_path, error);
        if (!findDirectory())
            return fail("not an .npz file (a zip of arrays), or cut off");
        if (m_directoryBytes > kMaxDirectory || m_directoryOffset > m_size ||
            m_directoryBytes > m_size - m_directoryOffset)
            return fail("its directory lies outside of the file");
        const auto directory = readAt(m_file, m_directoryOffset, m_directoryBytes);
        if (!directory)
            return fail("its directory is cut off");
        return readDirectory(*directory);
    }

private:
    Error fail(const std::string& what) const { return Error{what, m_npz.m_path.string()}; }

    bool findDirectory() {
        const std::uint64_t tail = std::min<std::uint64_t>(m_size, 22 + 65535);
        const auto data = readAt(m_file, m_size - tail, tail);
        if (!data || data->size() < 22)
            return false;
        for (std::size_t at = data->size() - 22 + 1; at-- > 0;) {
            if (number(*data, at, 4) != kEnd)
                continue;
            m_directoryBytes = number(*data, at + 12, 4);
            m_directoryOffset = number(*data, at + 16, 4);
            if (m_directoryOffset != 0xffffffff && m_directoryBytes != 0xffffffff &&
                number(*data, at + 10, 2) != 0xffff)
                return true;
            if (at < 20 || number(*data, at - 20, 4) != kLocator64)
                return true;
            const auto end = readAt(m_file, number(*data, at - 12, 8), 56);
            if (!end || number(*end, 0, 4) != kEnd64)
                return false;
            m_directoryBytes = number(*end, 40, 8);
            m_directoryOffset = number(*end, 48, 8);
            return true;
        }
        return false;
    }

    Result<void> readDirectory(std::string_view directory) {
        std::set<std::string> names;
        while (directory.size() >= 46) {
            if (number(directory, 0, 4) != kCentralHeader)
                return fail("its directory is damaged");
            const std::size_t name = number(directory, 28, 2), extra = number(directory, 30, 2),
                              comment = number(directory, 32, 2);
            if (directory.size() < 46 + name + extra + comment)
                return fail("its directory is cut off");
            std::string fileName(directory.substr(46, name));
            if (fileName.ends_with(".npy")) {
                fileName.resize(fileName.size() - 4);
                if (!names.insert(fileName).second)
                    return fail("array `" + fileName + "` occurs twice");
                if (auto added = addEntry(directory, fileName, directory.substr(46 + name, extra));
                    !added)
                    return added;
            }
            directory.remove_prefix(46 + name + extra + comment);
        }
        return {};
    }

    Result<void> addEntry(std::string_view header, const std::string& name,
                          std::string_view extra) {
        NpzFile::Entry entry;
        const std::uint64_t flags = number(header, 8, 2), method = number(header, 10, 2);
        entry.crc = static_cast<std::uint32_t>(number(header, 16, 4));
        entry.packedBytes = number(header, 20, 4);
        entry.bytes = number(header, 24, 4);
        std::uint64_t offset = number(header, 42, 4);
        // Sizes that need 64 bits are in an extra field, in this order and only those that are all
        // ones here.
        for (; extra.size() >= 4 && extra.size() >= 4 + number(extra, 2, 2);
             extra.remove_prefix(4 + number(extra, 2, 2))) {
            if (number(extra, 0, 2) != 1)
                continue;
            std::size_t at = 4;
            for (std::uint64_t* field : {&entry.bytes, &entry.packedBytes, &offset})
                if (*field == 0xffffffff && at + 8 <= 4 + number(extra, 2, 2)) {
                    *field = number(extra, at, 8);
                    at += 8;
                }
        }
        if ((flags & 1) || (method != 0 && method != 8))
            return fail("array `" + name +
                        "` is encrypted or packed by a method other than deflate");
        entry.deflated = method == 8;
        const auto local = offset < m_size ? readAt(m_file, offset, 30) : std::nullopt;
        if (!local || number(*local, 0, 4) != kLocalHeader)
            return fail("array `" + name + "` is not where the directory says");
        entry.dataOffset = offset + 30 + number(*local, 26, 2) + number(*local, 28, 2);
        if (entry.dataOffset > m_size || entry.packedBytes > m_size - entry.dataOffset ||
            (!entry.deflated && entry.packedBytes != entry.bytes))
            return fail("array `" + name + "` is cut off");
        auto start =
            m_npz.content(entry, std::min<std::uint64_t>(entry.bytes, kMaxNpyHeader + 16), false);
        auto parsed = start ? parseNpyHeader(*start) : Result<NpyHeader>(start.error());
        if (!parsed)
            return fail("array `" + name + "`: " + parsed.error().message);
        if (entry.bytes - parsed->headerBytes != static_cast<std::uint64_t>(parsed->dataBytes()))
            return fail("array `" + name + "` of shape " + dimsText(parsed->dims) +
                        " should have " + std::to_string(parsed->dataBytes()) + " bytes, but has " +
                        std::to_string(entry.bytes - parsed->headerBytes));
        m_npz.m_arrays.push_back({name, std::move(*parsed)});
        m_npz.m_entries.push_back(entry);
        return {};
    }

    NpzFile& m_npz;
    std::ifstream m_file;
    std::uint64_t m_size = 0, m_directoryOffset = 0, m_directoryBytes = 0;
};

Result<NpzFile> NpzFile::open(const std::filesystem::path& path) {
    NpzFile npz;
    npz.m_path = path;
    if (auto read = ZipReader(npz).read(); !read)
        return read.error();
    return npz;
}

Result<std::string> NpzFile::content(const Entry& entry, std::uint64_t limit, bool whole) const {
    std::ifstream file(m_path, std::ios::binary);
    const Error damaged{"its data is damaged", {}};
    if (!entry.deflated) {
        auto data = readAt(file, entry.dataOffset, limit);
        if (!data)
            return damaged;
        return std::move(*data);
    }
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return Error{"no memory", {}};
    // Grows with what really comes out: a few bytes may claim to be gigabytes.
    std::string out;
    std::uint64_t left = entry.packedBytes, offset = entry.dataOffset;
    int status = Z_OK;
    while (status == Z_OK && left > 0 && out.size() < limit) {
        const auto chunk = readAt(file, offset, std::min<std::uint64_t>(left, 1 << 20));
        if (!chunk)
            break;
        offset += chunk->size();
        left -= chunk->size();
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(chunk->data()));
        stream.avail_in = static_cast<uInt>(chunk->size());
        while (status == Z_OK && stream.avail_in > 0 && out.size() < limit) {
            const std::size_t before = out.size();
            const auto room =
                static_cast<std::size_t>(std::min<std::uint64_t>(limit - before, 1 << 20));
            out.resize(before + room);
            stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
            stream.avail_out = static_cast<uInt>(room);
            status = inflate(&stream, Z_NO_FLUSH);
            out.resize(before + room - std::min<std::size_t>(room, stream.avail_out));
        }
    }
    inflateEnd(&stream);
    if ((status != Z_OK && status != Z_STREAM_END) || (whole && out.size() != limit))
        return damaged;
    return out;
}

Result<std::string> NpzFile::checkedContent(std::size_t array) const {
    const Entry& entry = m_entries[array];
    const std::string place = m_path.string() + ", array `" + m_arrays[array].name + "`";
    auto data = content(entry, entry.bytes, true);
    if (!data)
        return Error{data.error().message, place};
    uLong crc = crc32(0, nullptr, 0);
    for (std::size_t at = 0; at < data->size(); at += 1u << 30)
        crc = crc32(crc, reinterpret_cast<const Bytef*>(data->data() + at),
                    static_cast<uInt>(std::min<std::size_t>(data->size() - at, 1u << 30)));
    if (crc != entry.crc)
        return Error{"its data is damaged (checksum)", place};
    return data;
}

Result<Buffer> NpzFile::read(std::size_t array, std::int32_t elementType) const {
    const auto data = checkedContent(array);
    if (!data)
        return data.error();
    const NpyHeader& header = m_arrays[array].header;
    auto buffer =
        npyElements(header, std::string_view(*data).substr(header.headerBytes), elementType);
    return buffer ? buffer
                  : Result<Buffer>(Error{buffer.error().message, m_path.string() + ", array `" +
                                                                     m_arrays[array].name + "`"});
}

Result<std::vector<std::string>> NpzFile::readTexts(std::size_t array) const {
    const auto data = checkedContent(array);
    if (!data)
        return data.error();
    const NpyHeader& header = m_arrays[array].header;
    auto texts = npyTexts(header, std::string_view(*data).substr(header.headerBytes));
    if (!texts)
        return Error{texts.error().message,
                     m_path.string() + ", array `" + m_arrays[array].name + "`"};
    return texts;
}

}  // namespace shardwright
