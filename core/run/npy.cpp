// SPDX-License-Identifier: Apache-2.0
#include "run/npy.h"

#include "model/shapes.h"
#include "run/element_types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

namespace shardwright {

namespace {

struct TypeName {
    std::int32_t type;
    const char* descr;
};

using T = onnx::TensorProto;
constexpr TypeName kTypes[] = {
    {T::FLOAT, "f4"},     {T::DOUBLE, "f8"},      {T::FLOAT16, "f2"}, {T::BOOL, "b1"},
    {T::INT8, "i1"},      {T::INT16, "i2"},       {T::INT32, "i4"},   {T::INT64, "i8"},
    {T::UINT8, "u1"},     {T::UINT16, "u2"},      {T::UINT32, "u4"},  {T::UINT64, "u8"},
    {T::COMPLEX64, "c8"}, {T::COMPLEX128, "c16"},
};

constexpr int kUnicodeBytes = 4;  // Of a character of dtype U.

/// Reads the dictionary of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class DictReader {
public:
    explicit DictReader(std::string_view text) : m_text(text) {}

    Result<NpyHeader> read() {
        NpyHeader header;
        bool ok = take('{');
        int keys = 0;
        while (ok && !take('}')) {
            std::string key, descr;
            ok = quoted(key) && take(':');
            if (key == "descr") {
                ok = ok && quoted(descr) && describe(descr, header);
                if (!ok)
                    return Error{
                        "elements of dtype " +
                            (descr.empty() ? std::string("with fields") : "'" + descr + "'") +
                            " are not tensors of ONNX",
                        {}};
            } else if (key == "fortran_order") {
                ok = ok && boolean(header.fortranOrder);
            } else if (key == "shape") {
                ok = ok && shape(header.dims);
            } else {
                ok = false;
            }
            take(',');
            ++keys;
        }
        if (!ok || keys != 3 || header.kind == 0)
            return Error{"the header of an array cannot be read", {}};
        return header;
    }

private:
    void skipSpace() {
        while (!m_text.empty() && (m_text[0] == ' ' || m_text[0] == '\n'))
            m_text.remove_prefix(1);
    }
    bool take(char c) {
        skipSpace();
        if (m_text.empty() || m_text[0] != c)
            return false;
        m_text.remove_prefix(1);
        return true;
    }
    bool word(std::string_view w) {
        skipSpace();
        if (!m_text.starts_with(w))
            return false;
        m_text.remove_prefix(w.size());
        return true;
    }
    bool quoted(std::string& out) {
        if (!take('\''))
            return false;
        const std::size_t end = m_text.find('\'');
        if (end == std::string_view::npos)
            return false;
        out = m_text.substr(0, end);
        m_text.remove_prefix(end + 1);
        return true;
    }
    bool boolean(bool& out) {
        out = word("True");
        return out || word("False");
    }
    bool shape(std::vector<std::int64_t>& dims) {
        if (!take('('))
            return false;
        while (!take(')')) {
            skipSpace();
            std::int64_t dim = -1;
            const auto [end, error] =
                std::from_chars(m_text.data(), m_text.data() + m_text.size(), dim);
            if (error != std::errc() || dim < 0 || dims.size() == 64)
                return false;
            m_text.remove_prefix(static_cast<std::size_t>(end - m_text.data()));
            dims.push_back(dim);
            take('L');  // Written by Python 2.
            take(',');
        }
        return true;
    }
    static bool describe(std::string_view descr, NpyHeader& header) {
        if (descr.size() < 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos)
            return false;
        header.bigEndian = descr[0] == '>';
        header.kind = descr[1];
        const auto [end, error] =
            std::from_chars(descr.data() + 2, descr.data() + descr.size(), header.itemBytes);
        if (error != std::errc() || end != descr.data() + descr.size())
            return false;
        const bool known =
            std::any_of(std::begin(kTypes), std::end(kTypes),
                        [&](const TypeName& t) { return descr.substr(1) == t.descr; });
        if (header.kind == 'U' || header.kind == 'S') {
            constexpr int kMost = 1 << 24;
            const bool fits = header.itemBytes > 0 && header.itemBytes <= kMost;
            header.itemBytes *= fits && header.kind == 'U' ? kUnicodeBytes : 1;
            return fits;
        }
        return known || (header.kind == 'V' && (header.itemBytes == 1 || header.itemBytes == 2));
    }

    std::string_view m_text;
};

std::string descrOf(const NpyHeader& header) {
    return header.kind + std::to_string(header.itemBytes);
}

/// Turns column-major elements into row-major ones.
void transpose(const NpyHeader& header, const char* in, char* out) {
    const auto size = static_cast<std::size_t>(header.itemBytes);
    const std::size_t rank = header.dims.size();
    std::vector<std::size_t> strides(rank, 1);
    for (std::size_t d = 1; d < rank; ++d)
        strides[d] = strides[d - 1] * static_cast<std::size_t>(header.dims[d - 1]);
    std::vector<std::int64_t> at(rank, 0);
    const std::int64_t count = header.dataBytes() / header.itemBytes;
    for (std::int64_t i = 0; i < count; ++i) {
        std::size_t offset = 0;
        for (std::size_t d = 0; d < rank; ++d)
            offset += static_cast<std::size_t>(at[d]) * strides[d];
        std::memcpy(out + static_cast<std::size_t>(i) * size, in + offset * size, size);
        for (std::size_t d = rank; d-- > 0 && ++at[d] == header.dims[d];)
            at[d] = 0;
    }
}

}  // namespace

std::int32_t NpyHeader::elementType(std::int32_t wanted) const {
    if (kind == 'U' || kind == 'S')
        return T::STRING;
    const std::string descr = descrOf(*this);
    for (const TypeName& type : kTypes)
        if (descr == type.descr)
            return type.type;
    const bool raw = kind == 'V' && elementBits(wanted) == itemBytes * 8;
    const bool narrow = std::none_of(std::begin(kTypes), std::end(kTypes),
                                     [&](const TypeName& t) { return t.type == wanted; });
    return raw && narrow ? wanted : 0;
}

std::string NpyHeader::typeText() const {
    const char* name = kind == 'f'   ? "float"
                       : kind == 'i' ? "int"
                       : kind == 'u' ? "uint"
                       : kind == 'c' ? "complex"
                                     : nullptr;
    if (kind == 'b')
        return "bool";
    if (kind == 'U' || kind == 'S')
        return "text";
    return name ? name + std::to_string(itemBytes * 8) : descrOf(*this);
}

std::int64_t NpyHeader::dataBytes() const {
    std::int64_t bytes = itemBytes;
    for (const std::int64_t dim : dims)
        if (dim == 0)
            return 0;
    for (const std::int64_t dim : dims) {
        if (bytes > (std::int64_t{1} << 62) / dim)
            return -1;
        bytes *= dim;
    }
    return bytes;
}

Result<NpyHeader> parseNpyHeader(std::string_view start) {
    if (!start.starts_with("\x93NUMPY") || start.size() < 10)
        return Error{"not a NumPy array (.npy)", {}};
    const int major = static_cast<unsigned char>(start[6]);
    if (major < 1 || major > 3)
        return Error{"version " + std::to_string(major) + " of NumPy's format is not known", {}};
    const std::size_t lengthBytes = major == 1 ? 2 : 4;
    if (start.size() < 8 + lengthBytes)
        return Error{"the header of an array is cut off", {}};
    std::size_t length = 0;
    for (std::size_t i = lengthBytes; i-- > 0;)
        length = length << 8 | static_cast<unsigned char>(start[8 + i]);
    const std::size_t begin = 8 + lengthBytes;
    if (length > kMaxNpyHeader || start.size() < begin + length)
        return Error{"the header of an array is cut off or too long", {}};
    auto header = DictReader(start.substr(begin, length)).read();
    if (header && header->dataBytes() < 0)
        return Error{"an array of shape " + dimsText(header->dims) + " is too large", {}};
    if (header)
        header->headerBytes = begin + length;
    return header;
}

Result<Buffer> npyElements(const NpyHeader& header, std::string_view data,
                           std::int32_t elementType) {
    auto buffer = Buffer::host(elementType, header.dims);
    if (!buffer)
        return buffer;
    if (static_cast<std::size_t>(header.dataBytes()) != data.size() ||
        buffer->bytes() != data.size())
        return Error{"an array of shape " + dimsText(header.dims) + " has " +
                         std::to_string(data.size()) + " bytes",
                     {}};
    auto* out = reinterpret_cast<char*>(buffer->data());
    if (header.fortranOrder && header.dims.size() > 1)
        transpose(header, data.data(), out);
    else if (!data.empty())
        std::memcpy(out, data.data(), data.size());
    const bool swap = header.bigEndian != (std::endian::native == std::endian::big);
    const auto part =
        static_cast<std::size_t>(header.kind == 'c' ? header.itemBytes / 2 : header.itemBytes);
    if (swap && header.kind != 'V')
        for (std::size_t i = 0; i + part <= data.size(); i += part)
            std::reverse(out + i, out + i + part);
    return buffer;
}

namespace {

bool appendUtf8(std::string& text, std::uint32_t c) {
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return false;
    if (c < 0x80) {
        text += static_cast<char>(c);
        return true;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    text += static_cast<char>((0xff << (7 - more) & 0xff) | c >> (6 * more));
    for (int i = more; i-- > 0;)
        text += static_cast<char>(0x80 | (c >> (6 * i) & 0x3f));
    return true;
}

/// The characters of UTF-8; one that stands for what is none.
std::u32string fromUtf8(std::string_view text) {
    std::u32string out;
    while (!text.empty()) {
        const auto first = static_cast<unsigned char>(text[0]);
        const std::size_t size = first < 0x80   ? 1
                                 : first < 0xc2 ? 0
                                 : first < 0xe0 ? 2
                                 : first < 0xf0 ? 3
                                 : first < 0xf5 ? 4
                                                : 0;
        bool good = size > 0 && size <= text.size();
        char32_t c = size < 2 ? first : first & (0xffU >> (size + 1));
        for (std::size_t i = 1; good && i < size; ++i) {
            const auto next = static_cast<unsigned char>(text[i]);
            good = (next & 0xc0) == 0x80;
            c = c << 6 | (next & 0x3f);
        }
        out += good ? c : U'\ufffd';
        text.remove_prefix(good ? size : 1);
    }
    return out;
}

std::string npyStart(const std::string& descr, const std::vector<std::int64_t>& dims) {
    std::string shape;
    for (const std::int64_t dim : dims)
        shape += std::to_string(dim) + ", ";
    std::string dict =
        "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    dict.append(63 - (10 + dict.size()) % 64, ' ');
    dict += '\n';
    std::string file("\x93NUMPY\x01\x00", 8);
    file += static_cast<char>(dict.size() & 0xff);
    file += static_cast<char>(dict.size() >> 8);
    return file + dict;
}

}  // namespace

Result<std::vector<std::string>> npyTexts(const NpyHeader& header, std::string_view data) {
    const auto size = static_cast<std::size_t>(header.itemBytes);
    std::string ordered;
    if (static_cast<std::size_t>(header.dataBytes()) != data.size())
        return Error{"an array of shape " + dimsText(header.dims) + " has " +
                         std::to_string(data.size()) + " bytes",
                     {}};
    if (header.fortranOrder && header.dims.size() > 1 && !data.empty()) {
        ordered.resize(data.size());
        transpose(header, data.data(), ordered.data());
        data = ordered;
    }
    const bool swap = header.bigEndian != (std::endian::native == std::endian::big);
    std::vector<std::string> texts;
    for (std::size_t at = 0; at < data.size(); at += size) {
        const std::string_view item = data.substr(at, size);
        std::string& text = texts.emplace_back();
        if (header.kind == 'S') {
            text = item.substr(0, item.find_last_not_of('\0') + 1);
            continue;
        }
        std::size_t zeros = 0;
        for (std::size_t i = 0; i < size; i += kUnicodeBytes) {
            std::array<char, kUnicodeBytes> bytes{};
            std::memcpy(bytes.data(), item.data() + i, bytes.size());
            if (swap)
                std::reverse(bytes.begin(), bytes.end());
            const auto c = std::bit_cast<std::uint32_t>(bytes);
            if (c == 0) {
                ++zeros;
                continue;
            }
            text.append(std::exchange(zeros, 0), '\0');
            if (!appendUtf8(text, c))
                return Error{"an array of text has a character that is no Unicode", {}};
        }
    }
    return texts;
}

Result<std::string> npyTextFile(const Buffer& tensor, const StringPool& strings) {
    const auto texts = strings.texts(tensor);
    if (!texts)
        return texts.error();
    std::vector<std::u32string> wide;
    std::size_t longest = 1;
    for (const std::string& text : *texts) {
        wide.push_back(fromUtf8(text));
        longest = std::max(longest, wide.back().size());
    }
    std::string file =
        npyStart((std::endian::native == std::endian::big ? ">U" : "<U") + std::to_string(longest),
                 tensor.dims());
    for (std::u32string& text : wide) {
        text.resize(longest, U'\0');
        file.append(reinterpret_cast<const char*>(text.data()), longest * sizeof(char32_t));
    }
    return file;
}

Result<std::string> npyFile(const Buffer& tensor) {
    const auto known = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeName& t) {
        return t.type == tensor.elementType();
    });
    const bool converted = known == std::end(kTypes);
    const std::string descr = converted ? "f4" : known->descr;
    const char order = descr == "b1" || descr == "i1" || descr == "u1" ? '|'
                       : std::endian::native == std::endian::big       ? '>'
                                                                       : '<';
    std::string file = npyStart(order + descr, tensor.dims());
    if (!converted) {
        file.append(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
        return file;
    }
    std::vector<double> values(static_cast<std::size_t>(tensor.count()));
    if (!toDoubles(tensor.elementType(), tensor.data(), 0, tensor.count(), values.data()))
        return Error{"a tensor of type " + elementTypeName(tensor.elementType()) +
                         " cannot be saved as .npy",
                     {}};
    for (const double value : values) {
        const auto narrow = static_cast<float>(value);
        file.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
    }
    return file;
}

}  // namespace shardwright
