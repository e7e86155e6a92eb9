// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/npy.h"

#include <filesystem>
#include <string>
#include <vector>

namespace shardwright {

/// An .npz file (a zip of .npy files, stored or deflated). Opening reads names and array headers
/// only; memory for elements is taken when one array is read, and never more than its header says.
class NpzFile {
public:
    struct Array {
        std::string name;  ///< Without ".npy".
        NpyHeader header;
    };
    /// Errors: cannot be read, not a zip, truncated, an unknown or encrypted method, a name that
    /// occurs twice.
    static Result<NpzFile> open(const std::filesystem::path& path);

    const std::vector<Array>& arrays() const { return m_arrays; }
    /// Errors: damaged data (checksum), sizes that contradict each other.
    Result<Buffer> read(std::size_t array, std::int32_t elementType) const;
    /// Of an array of text.
    Result<std::vector<std::string>> readTexts(std::size_t array) const;

private:
    struct Entry {
        std::uint64_t dataOffset = 0, packedBytes = 0, bytes = 0;
        std::uint32_t crc = 0;
        bool deflated = false;
    };
    Result<std::string> checkedContent(std::size_t array) const;
    Result<std::string> content(const Entry& entry, std::uint64_t limit, bool whole) const;

    std::filesystem::path m_path;
    std::vector<Array> m_arrays;
    std::vector<Entry> m_entries;
    friend class ZipReader;
};

}  // namespace shardwright
