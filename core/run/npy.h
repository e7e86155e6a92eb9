// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"
#include "run/buffer.h"
#include "run/string_pool.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

/// The header of a .npy file, versions 1 to 3 (numpy.lib.format).
struct NpyHeader {
    char kind = 0;  ///< As numpy's dtype.kind: f i u b c V, U and S of text.
    int itemBytes = 0;
    bool bigEndian = false;
    bool fortranOrder = false;
    std::vector<std::int64_t> dims;
    std::size_t headerBytes = 0;  ///< The data begins here.

    /// The ONNX type that this is; of raw bytes (`V2`, as ml_dtypes' bfloat16 is saved) the one
    /// wanted, if it fits. 0: none.
    std::int32_t elementType(std::int32_t wanted) const;
    std::string typeText() const;  ///< "float32", "V2"
    /// Bytes of the data; -1: more than 2^62.
    std::int64_t dataBytes() const;
};

/// Bytes at the start of a file that are enough for any header that is accepted.
inline constexpr std::size_t kMaxNpyHeader = 64 * 1024;

/// Errors: not a .npy file, truncated, a dtype that no ONNX tensor has (objects, records).
Result<NpyHeader> parseNpyHeader(std::string_view start);
/// The elements in row-major order and this machine's byte order. `data` has header.dataBytes()
/// bytes.
Result<Buffer> npyElements(const NpyHeader& header, std::string_view data,
                           std::int32_t elementType);

/// The same of an array of text: UTF-8, without the zeros that numpy pads with. Error: no Unicode.
Result<std::vector<std::string>> npyTexts(const NpyHeader& header, std::string_view data);
/// A .npy file of a tensor of strings, with dtype U. What is no UTF-8 is replaced.
Result<std::string> npyTextFile(const Buffer& tensor, const StringPool& strings);

/// A .npy file of a tensor. Types that numpy lacks (bfloat16, 8-bit floats, 4-bit integers) become
/// float32.
Result<std::string> npyFile(const Buffer& tensor);

}  // namespace shardwright
