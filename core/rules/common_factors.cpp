// SPDX-License-Identifier: Apache-2.0
#include "rules/common_factors.h"

#include <algorithm>
#include <numeric>

namespace shardwright {

namespace {

using Sizes = std::vector<std::int64_t>;

/// A run of dimensions [begin, end) of one shape, taken apart from both ends.
class Side {
public:
    Side(const Sizes& sizes, std::size_t begin, std::size_t end,
         std::vector<std::vector<int>>& dims)
        : m_dims(dims), m_rest(sizes), m_back(sizes.size()), m_first(begin), m_last(end) {
        skip();
    }
    bool empty() const { return m_first == m_last; }
    std::int64_t front() const { return m_rest[m_first]; }
    std::int64_t back() const { return m_rest[m_last - 1]; }
    void takeFront(std::int64_t size, int part) {
        m_dims[m_first].push_back(part);
        m_rest[m_first] /= size;
        skip();
    }
    void takeBack(std::int64_t size, int part) {
        m_back[m_last - 1].push_back(part);
        m_rest[m_last - 1] /= size;
        skip();
    }
    /// Appends what was taken from the inner end, which came in reverse order.
    void close() {
        for (std::size_t d = 0; d < m_back.size(); ++d)
            m_dims[d].insert(m_dims[d].end(), m_back[d].rbegin(), m_back[d].rend());
    }

private:
    void skip() {
        while (m_first < m_last && m_rest[m_first] == 1)
            ++m_first;
        while (m_first < m_last && m_rest[m_last - 1] == 1)
            --m_last;
    }
    std::vector<std::vector<int>>& m_dims;
    Sizes m_rest;
    std::vector<std::vector<int>> m_back;
    std::size_t m_first, m_last;
};

int addPart(CommonFactors& result, std::int64_t size, bool in, bool out) {
    result.parts.push_back({size, in, out});
    return static_cast<int>(result.parts.size()) - 1;
}

void splitRun(CommonFactors& result, Side& in, Side& out) {
    while (!in.empty() && !out.empty()) {
        const std::int64_t common = std::gcd(in.front(), out.front());
        if (common == 1)
            break;
        const bool nests = common == in.front() || common == out.front();
        const int part = addPart(result, common, true, true);
        in.takeFront(common, part);
        out.takeFront(common, part);
        if (!nests)
            break;
    }
    while (!in.empty() && !out.empty()) {
        const std::int64_t common = std::gcd(in.back(), out.back());
        if (common == 1)
            break;
        const bool nests = common == in.back() || common == out.back();
        const int part = addPart(result, common, true, true);
        in.takeBack(common, part);
        out.takeBack(common, part);
        if (!nests)
            break;
    }
    while (!in.empty())
        in.takeFront(in.front(), addPart(result, in.front(), true, false));
    while (!out.empty())
        out.takeFront(out.front(), addPart(result, out.front(), false, true));
    in.close();
    out.close();
}

bool hasZero(const Sizes& sizes) {
    return std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
}

void allApart(CommonFactors& result, const Sizes& in, const Sizes& out) {
    for (std::size_t d = 0; d < in.size(); ++d)
        result.in[d].push_back(addPart(result, in[d], true, false));
    for (std::size_t d = 0; d < out.size(); ++d)
        result.out[d].push_back(addPart(result, out[d], false, true));
}

/// The next run: as many dimensions of both as it takes for equal products. False: there is none.
bool nextRun(const Sizes& in, const Sizes& out, std::size_t& i, std::size_t& j) {
    std::int64_t a = 1, b = 1;
    do {
        if (a <= b && i < in.size()) {
            if (__builtin_mul_overflow(a, in[i++], &a))
                return false;
        } else if (j < out.size()) {
            if (__builtin_mul_overflow(b, out[j++], &b))
                return false;
        } else {
            return false;
        }
    } while (a != b || (a == 1 && (i < in.size() || j < out.size())));
    return true;
}

}  // namespace

CommonFactors commonFactors(const Sizes& in, const Sizes& out) {
    CommonFactors result;
    result.in.resize(in.size());
    result.out.resize(out.size());
    if (hasZero(in) || hasZero(out)) {
        result.fits = hasZero(in) && hasZero(out);
        allApart(result, in, out);
        return result;
    }
    std::size_t i = 0, j = 0;
    while (i < in.size() || j < out.size()) {
        const std::size_t i0 = i, j0 = j;
        if (!nextRun(in, out, i, j))
            return result;
        Side inner(in, i0, i, result.in), outer(out, j0, j, result.out);
        splitRun(result, inner, outer);
    }
    result.fits = true;
    return result;
}

}  // namespace shardwright
