// SPDX-License-Identifier: Apache-2.0
#include "rules/factor_union.h"

namespace shardwright {

namespace {

constexpr const char* kNoNesting = "its sizes in the body do not nest";

}  // namespace

int FactorUnion::add(std::int64_t size) {
    m_factors.push_back({size, {}, -1, -1, -1});
    return static_cast<int>(m_factors.size()) - 1;
}

int FactorUnion::root(int factor) const {
    while (m_factors[index(factor)].same >= 0)
        factor = m_factors[index(factor)].same;
    return factor;
}

FactorUnion::List FactorUnion::parts(const List& factors) const {
    List result, stack(factors.rbegin(), factors.rend());
    while (!stack.empty()) {
        const int factor = root(stack.back());
        stack.pop_back();
        const Factor& f = m_factors[index(factor)];
        if (f.major < 0) {
            result.push_back(factor);
            continue;
        }
        stack.push_back(f.minor);
        stack.push_back(f.major);
    }
    return result;
}

void FactorUnion::split(int part, std::int64_t majorSize) {
    const Factor before = m_factors[index(part)];
    const int major = add(majorSize), minor = add(before.size / majorSize);
    m_factors[index(major)].reason = before.reason;
    m_factors[index(minor)].reason = before.reason;
    m_factors[index(part)].major = major;
    m_factors[index(part)].minor = minor;
}

void FactorUnion::makeWhole(int factor, const std::string& reason) {
    for (const int part : parts({factor}))
        if (m_factors[index(part)].reason.empty())
            m_factors[index(part)].reason = reason;
}

void FactorUnion::makeWhole(const List& factors, const std::string& reason) {
    for (const int factor : factors)
        makeWhole(factor, reason);
}

void FactorUnion::unify(const List& a, const List& b) {
    List left = parts(a), right = parts(b);
    std::size_t i = 0, j = 0;
    while (i < left.size() && j < right.size()) {
        // What an earlier step of this loop did may have given a part a new root.
        const int x = root(left[i]), y = root(right[j]);
        if (x == y) {
            ++i, ++j;
            continue;
        }
        if (m_factors[index(x)].major >= 0 || m_factors[index(y)].major >= 0) {
            const List restLeft(left.begin() + static_cast<std::ptrdiff_t>(i), left.end());
            const List restRight(right.begin() + static_cast<std::ptrdiff_t>(j), right.end());
            left = parts(restLeft);
            right = parts(restRight);
            i = j = 0;
            continue;
        }
        const std::int64_t sx = size(x), sy = size(y);
        if (sx == sy) {
            if (m_factors[index(x)].reason.empty())
                m_factors[index(x)].reason = m_factors[index(y)].reason;
            m_factors[index(y)].same = x;
            ++i, ++j;
        } else if (sx > 0 && sy > 0 && (sx > sy ? sx % sy : sy % sx) == 0) {
            split(sx > sy ? x : y, sx > sy ? sy : sx);
        } else {
            break;
        }
    }
    for (; i < left.size(); ++i)
        makeWhole(left[i], kNoNesting);
    for (; j < right.size(); ++j)
        makeWhole(right[j], kNoNesting);
}

}  // namespace shardwright
