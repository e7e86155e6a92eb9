// SPDX-License-Identifier: Apache-2.0
#include "run/verify.h"

#include "model/shapes.h"
#include "run/element_types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace shardwright {

double typeTolerance(std::int32_t elementType) {
    using T = onnx::TensorProto;
    switch (elementType) {
        case T::DOUBLE:
        case T::COMPLEX128: return 1e-11;
        case T::FLOAT:
        case T::COMPLEX64: return 0x1p-20;
        case T::FLOAT16: return 1e-2;
        case T::BFLOAT16: return 5e-2;
        case T::FLOAT8E4M3FN:
        case T::FLOAT8E4M3FNUZ:
        case T::FLOAT8E5M2:
        case T::FLOAT8E5M2FNUZ: return 0.25;
        default: return 0;
    }
}

double tolerance(std::int32_t elementType, double length) {
    using T = onnx::TensorProto;
    const double type = typeTolerance(elementType);
    const double rounding =
        elementType == T::DOUBLE || elementType == T::COMPLEX128 ? 0x1p-53 : 0x1p-24;
    return type > 0 ? type + 8 * rounding * std::sqrt(length) : 0;
}

namespace {

/// Differences between two runs of elements.
class Difference {
public:
    explicit Difference(std::int32_t elementType)
        : m_type(elementType), m_bits(elementBits(elementType)) {}

    void add(const std::byte* found, const std::byte* expected, std::size_t bytes,
             DeviceId device) {
        if (std::memcmp(found, expected, bytes) == 0)
            return;
        if (!isFloatingPoint(m_type))
            m_unequal = true;
        const auto count = static_cast<std::int64_t>(bytes * 8) / m_bits;
        std::array<double, 1024> a, b;
        for (std::int64_t first = 0; first < count; first += 1024) {
            const std::int64_t n = std::min<std::int64_t>(1024, count - first);
            if (!toDoubles(m_type, found, first, n, a.data()) ||
                !toDoubles(m_type, expected, first, n, b.data())) {
                m_unequal = true;
                return;
            }
            for (std::int64_t i = 0; i < n; ++i)
                addElement(a[static_cast<std::size_t>(i)], b[static_cast<std::size_t>(i)], device);
        }
    }

    double maxAbs() const { return m_maxAbs; }
    bool exactlyUnequal() const { return m_unequal; }
    std::string note() const {
        if (m_special > 0)
            return std::to_string(m_special) + " NaN or infinite values differ (device " +
                   std::to_string(m_device) + ")";
        return m_device >= 0 ? "differs most on device " + std::to_string(m_device) : std::string();
    }
    bool specialsDiffer() const { return m_special > 0; }

private:
    void addElement(double found, double expected, DeviceId device) {
        if (!std::isfinite(found) || !std::isfinite(expected)) {
            const bool same = (std::isnan(found) && std::isnan(expected)) || found == expected;
            if (!same && m_special++ == 0)
                m_device = device;
            return;
        }
        const double difference = std::abs(found - expected);
        if (difference > m_maxAbs) {
            m_maxAbs = difference;
            if (m_special == 0)
                m_device = device;
        }
    }

    const std::int32_t m_type;
    const int m_bits;
    double m_maxAbs = 0;
    std::int64_t m_special = 0;
    bool m_unequal = false;
    DeviceId m_device = -1;
};

double largestMagnitude(const Buffer& tensor) {
    double largest = 0;
    std::array<double, 1024> values;
    for (std::int64_t first = 0; first < tensor.count(); first += 1024) {
        const std::int64_t n = std::min<std::int64_t>(1024, tensor.count() - first);
        if (!toDoubles(tensor.elementType(), tensor.data(), first, n, values.data()))
            return 0;
        for (std::int64_t i = 0; i < n; ++i)
            if (const double v = std::abs(values[static_cast<std::size_t>(i)]); std::isfinite(v))
                largest = std::max(largest, v);
    }
    return largest;
}

/// Strings are equal or not.
class StringDifference {
public:
    void add(const std::byte* found, const std::byte* expected, std::size_t bytes,
             DeviceId device) {
        for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t))
            if (std::memcmp(found + i, expected + i, sizeof(std::uint64_t)) != 0 && m_count++ == 0)
                m_device = device;
    }
    std::int64_t count() const { return m_count; }
    std::string note() const {
        return std::to_string(m_count) + (m_count == 1 ? " string differs" : " strings differ") +
               " (device " + std::to_string(m_device) + ")";
    }

private:
    std::int64_t m_count = 0;
    DeviceId m_device = -1;
};

/// Whether the boxes of all pieces together are the whole tensor.
bool coversAll(const RunResult::Output& output) {
    const Box whole = Box::whole(output.shape);
    std::int64_t total = 0;
    for (const RunResult::Piece& piece : output.pieces) {
        if (piece.box == whole)
            return true;
        total += piece.box.count();
    }
    if (total < whole.count())
        return false;
    std::vector<std::byte> seen(static_cast<std::size_t>(whole.count()));
    for (const RunResult::Piece& piece : output.pieces) {
        const auto way = RegionCopy::make(piece.box, whole, piece.box, 8);
        if (!way)
            return false;
        way->forEachRun([&](std::size_t, std::size_t to, std::size_t bytes) {
            std::memset(seen.data() + to, 1, bytes);
        });
    }
    return std::find(seen.begin(), seen.end(), std::byte{0}) == seen.end();
}

}  // namespace

TensorCheck checkTensor(const RunResult::Output& sharded, const RunResult::Output& reference,
                        double allowed) {
    TensorCheck check;
    check.name = sharded.name;
    check.value = sharded.value;
    check.tolerance = allowed >= 0 ? allowed : tolerance(sharded.elementType, 400);
    const Box whole = Box::whole(reference.shape);
    if (sharded.elementType != reference.elementType || sharded.shape != reference.shape ||
        reference.pieces.size() != 1 || !(reference.pieces[0].box == whole)) {
        check.note = "has another type or shape than the reference, or there is no whole reference";
        return check;
    }
    if (!coversAll(sharded)) {
        check.note = "its shards are not the whole tensor";
        return check;
    }
    const Buffer& expected = reference.pieces[0].data;
    Difference difference(sharded.elementType);
    StringDifference strings;
    for (const RunResult::Piece& piece : sharded.pieces) {
        const auto way = RegionCopy::make(whole, piece.box, piece.box,
                                          elementBits(storedType(sharded.elementType)));
        if (!way) {
            check.note = way.error().message;
            return check;
        }
        way->forEachRun([&](std::size_t from, std::size_t to, std::size_t bytes) {
            if (isString(sharded.elementType))
                strings.add(piece.data.data() + to, expected.data() + from, bytes, piece.device);
            else
                difference.add(piece.data.data() + to, expected.data() + from, bytes, piece.device);
        });
    }
    if (isString(sharded.elementType)) {
        check.agrees = strings.count() == 0;
        if (!check.agrees)
            check.note = strings.note();
        return check;
    }
    check.maxAbs = difference.maxAbs();
    const double largest = largestMagnitude(expected);
    check.maxRel = largest > 0 ? check.maxAbs / largest : check.maxAbs;
    check.agrees = !difference.specialsDiffer() && check.maxRel <= check.tolerance &&
                   !(check.tolerance == 0 && difference.exactlyUnequal());
    if (!check.agrees)
        check.note = difference.note();
    return check;
}

Result<Buffer> gather(const RunResult::Output& output) {
    if (!coversAll(output))
        return Error{"an element of the tensor is on no device", "`" + output.name + "`"};
    auto whole = Buffer::host(storedType(output.elementType), output.shape);
    if (!whole)
        return whole;
    const Box box = Box::whole(output.shape);
    for (const RunResult::Piece& piece : output.pieces) {
        const auto way = RegionCopy::make(piece.box, box, piece.box,
                                          elementBits(storedType(output.elementType)));
        if (!way)
            return Error{way.error().message, "`" + output.name + "`"};
        way->run(piece.data.data(), whole->data());
    }
    return whole;
}

}  // namespace shardwright
