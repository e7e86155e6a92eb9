// SPDX-License-Identifier: Apache-2.0
//
// The plan is found on the difference of the two shardings: per dimension, the axes that have to
// go (`in`) and those that have to come (`out`) behind the beginning that both share. Each kind of
// collective shortens the difference; together they empty it. The order of kinds and the choices
// within each follow Shardy's reshard_to_collectives.

#include "comm/axis_reshard.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

namespace shardwright {

std::string axisCollectiveName(AxisCollective::Kind kind) {
    switch (kind) {
        case AxisCollective::Kind::Slice: return "all_slice";
        case AxisCollective::Kind::Permute: return "collective_permute";
        case AxisCollective::Kind::AllToAll: return "all_to_all";
        case AxisCollective::Kind::AllGather: break;
    }
    return "all_gather";
}

namespace {

using PerDim = std::vector<AxisList>;

bool divide(std::int64_t a, std::int64_t b) {
    return a % b == 0 || b % a == 0;
}

bool holds(const AxisList& list, const AxisRef& axis) {
    return std::find(list.begin(), list.end(), axis) != list.end();
}

/// Cuts axes so that any two parts, of either side, are equal or apart.
void align(PerDim& a, PerDim& b, const AxisList& more = {}) {
    std::vector<std::pair<int, std::int64_t>> cuts;
    const auto note = [&](const AxisRef& axis) {
        cuts.emplace_back(axis.axis, axis.pre);
        cuts.emplace_back(axis.axis, axis.next());
    };
    for (const PerDim* side : {&a, &b})
        for (const AxisList& axes : *side)
            std::for_each(axes.begin(), axes.end(), note);
    std::for_each(more.begin(), more.end(), note);
    std::sort(cuts.begin(), cuts.end());
    for (PerDim* side : {&a, &b})
        for (AxisList& axes : *side) {
            AxisList parts;
            for (AxisRef axis : axes) {
                for (const auto& [number, at] : cuts)
                    if (number == axis.axis && at > axis.pre && at < axis.next() &&
                        at % axis.pre == 0 && axis.next() % at == 0) {
                        parts.push_back({axis.axis, axis.pre, at / axis.pre});
                        axis = {axis.axis, at, axis.next() / at};
                    }
                parts.push_back(axis);
            }
            axes = std::move(parts);
        }
}

class Planner {
public:
    Planner(const std::vector<std::int64_t>& shape, const PerDim& from, const PerDim& to)
        : m_shape(shape), m_in(from), m_out(to), m_now(from), m_target(to),
          m_capacity(shape.size(), 1) {
        align(m_in, m_out);
        for (std::size_t d = 0; d < rank(); ++d)
            dropCommon(d);
    }

    std::vector<AxisCollective> run() {
        for (int round = 0; round < 2 && !done(); ++round) {
            slice();
            if (mustPermute())
                permute();
            exchange(false);
            exchange(true);
            gather();
        }
        if (!done())
            startOver();
        return std::move(m_plan);
    }

private:
    std::size_t rank() const { return m_shape.size(); }

    bool done() const {
        const auto empty = [](const AxisList& axes) { return axes.empty(); };
        return std::all_of(m_in.begin(), m_in.end(), empty) &&
               std::all_of(m_out.begin(), m_out.end(), empty);
    }

    void dropCommon(std::size_t d) {
        while (!m_in[d].empty() && !m_out[d].empty() && m_in[d].front() == m_out[d].front()) {
            m_in[d].erase(m_in[d].begin());
            m_out[d].erase(m_out[d].begin());
        }
    }

    bool isIn(const AxisRef& axis) const {
        return std::any_of(m_in.begin(), m_in.end(),
                           [&](const AxisList& l) { return holds(l, axis); });
    }

    struct Place {
        std::size_t dim = 0, index = 0;
    };
    std::optional<Place> wanted(const AxisRef& axis) const {
        for (std::size_t d = 0; d < rank(); ++d)
            for (std::size_t i = 0; i < m_out[d].size(); ++i)
                if (m_out[d][i] == axis)
                    return Place{d, i};
        return std::nullopt;
    }

    /// Takes the axes of m_in[d] from `first` on off the present sharding.
    void popNow(std::size_t d, std::size_t first) {
        AxisList& now = m_now[d];
        for (std::size_t i = m_in[d].size(); i-- > first;) {
            const auto rest = now.back().without(m_in[d][i]);
            if (rest)
                now.back() = *rest;
            else
                now.pop_back();
        }
    }

    struct Fit {
        AxisRef within;
        std::optional<AxisRef> rest;
    };
    /// What of an axis fits into `capacity`, which becomes smaller.
    static std::optional<Fit> fit(const AxisRef& axis, std::int64_t& capacity) {
        if (capacity <= 1 || !divide(axis.size, capacity))
            return std::nullopt;
        if (capacity >= axis.size) {
            capacity /= axis.size;
            return Fit{axis, std::nullopt};
        }
        Fit result{{axis.axis, axis.pre, capacity},
                   AxisRef{axis.axis, axis.pre * capacity, axis.size / capacity}};
        capacity = 1;
        return result;
    }

    void add(AxisCollective collective) {
        collective.result = m_now;
        m_plan.push_back(std::move(collective));
    }

    // --- slice
    // ---------------------------------------------------------------------------------------------

    void slice() {
        PerDim sliced(rank());
        for (std::size_t d = 0; d < rank(); ++d) {
            const std::int64_t in = shardsOf(m_in[d]), out = shardsOf(m_out[d]);
            m_capacity[d] = out / std::gcd(in, out);
        }
        for (std::size_t d = 0; d < rank(); ++d)
            sliceForExchange(d, sliced);
        AxisList left;
        for (std::size_t d = 0; d < rank(); ++d)
            sliceAtHome(d, sliced, left);
        distribute(left, false, [&](const AxisRef& axis, std::size_t d) {
            appendAxis(sliced[d], axis);
            appendAxis(m_now[d], axis);
        });
        if (std::all_of(sliced.begin(), sliced.end(), [](const AxisList& l) { return l.empty(); }))
            return;
        AxisCollective collective{AxisCollective::Kind::Slice, std::move(sliced), {}, 0, 0, {}};
        add(std::move(collective));
    }

    /// Axes that follow, at their target, an axis that is to be moved there from `source` are
    /// sliced at the source, where that makes a permutation unnecessary: the exchange then moves
    /// them together.
    void sliceForExchange(std::size_t source, PerDim& sliced) {
        AxisList& in = m_in[source];
        if (in.empty() || !m_out[source].empty())
            return;
        const auto place = wanted(in.back());
        if (!place || !m_in[place->dim].empty())
            return;
        const AxisList& out = m_out[place->dim];
        const std::size_t first = place->index + 1;
        if (first >= out.size() || isIn(out[first]))
            return;
        // The end of `in` that lies in `out` in the same order; nothing before it may lie there,
        // too.
        std::size_t i = in.size(), o = first;
        std::int64_t common = 1;
        while (i > 0 && o > 0 && in[i - 1] == out[o - 1]) {
            common *= in[i - 1].size;
            --i;
            --o;
        }
        for (std::size_t k = 0; k < i; ++k)
            if (holds(out, in[k]))
                return;
        std::size_t end = first;
        std::int64_t added = 1;
        while (end < out.size() && !isIn(out[end]))
            added *= out[end++].size;
        if (m_shape[source] % (shardsOf(m_now[source]) * added) != 0)
            return;
        m_capacity[place->dim] /= common * added;
        for (std::size_t k = first; k < end; ++k) {
            in.push_back(out[k]);
            appendAxis(sliced[source], out[k]);
            appendAxis(m_now[source], out[k]);
        }
    }

    void sliceAtHome(std::size_t d, PerDim& sliced, AxisList& left) {
        AxisList& out = m_out[d];
        for (std::size_t i = 0; i < out.size();) {
            const AxisRef axis = out[i];
            if (isIn(axis)) {
                ++i;
                continue;
            }
            const auto part = fit(axis, m_capacity[d]);
            if (!part) {
                left.push_back(axis);
                ++i;
                continue;
            }
            appendAxis(sliced[d], part->within);
            appendAxis(m_now[d], part->within);
            if (m_in[d].empty() && i == 0) {
                out.erase(out.begin());
            } else {
                m_in[d].push_back(part->within);
                out[i++] = part->within;
            }
            if (part->rest) {
                out.insert(out.begin() + static_cast<std::ptrdiff_t>(i), *part->rest);
                left.push_back(*part->rest);
                // What is left of an axis is looked at once more, by `distribute`.
                ++i;
            }
        }
    }

    /// Puts axes of `available` on the first dimensions that have room.
    template <class Consume>
    void distribute(AxisList& available, bool front, const Consume& consume) {
        AxisList cut;
        for (std::size_t d = 0; d < rank(); ++d)
            place(available, d, front, cut, consume);
        align(m_in, m_out, cut);
    }

    template <class Consume>
    void place(AxisList& available, std::size_t d, bool front, AxisList& cut,
               const Consume& consume) {
        std::size_t at = front ? 0 : m_in[d].size();
        for (std::size_t i = 0; i < available.size() && m_capacity[d] > 1;) {
            const auto part = fit(available[i], m_capacity[d]);
            if (!part) {
                ++i;
                continue;
            }
            available.erase(available.begin() + static_cast<std::ptrdiff_t>(i));
            m_in[d].insert(m_in[d].begin() + static_cast<std::ptrdiff_t>(at++), part->within);
            consume(part->within, d);
            if (part->rest) {
                cut.push_back(part->within);
                available.insert(available.begin(), *part->rest);
                ++i;
            }
        }
    }

    // --- permute
    // -------------------------------------------------------------------------------------------

    bool mustPermute() const {
        std::optional<AxisRef> leaving, coming;
        for (std::size_t d = 0; d < rank(); ++d) {
            const AxisList &in = m_in[d], &out = m_out[d];
            if (!in.empty() && !out.empty() && divide(in.front().size, out.front().size))
                return true;
            for (const AxisRef& axis : out)
                if (!isIn(axis))
                    coming = axis;
            std::optional<std::size_t> lastDim;
            std::size_t lastIndex = 0;
            std::set<std::size_t> seen;
            for (const AxisRef& axis : in) {
                std::optional<std::size_t> dim;
                if (const auto place = wanted(axis)) {
                    dim = place->dim;
                    const bool again = place->dim == d || seen.contains(place->dim);
                    if (again && (lastDim != dim || place->index != lastIndex + 1))
                        return true;
                    seen.insert(place->dim);
                    lastIndex = place->index;
                } else if (lastDim && out.empty()) {
                    return true;
                } else {
                    leaving = axis;
                }
                lastDim = dim;
            }
        }
        return leaving && coming && divide(leaving->size, coming->size);
    }

    void permute() {
        AxisList coming;
        PerDim leaving(rank());
        const PerDim before = m_out;
        const auto isWanted = [&](const AxisRef& axis) {
            return std::any_of(before.begin(), before.end(),
                               [&](const AxisList& l) { return holds(l, axis); });
        };
        for (std::size_t d = 0; d < rank(); ++d) {
            AxisList &in = m_in[d], &out = m_out[d];
            m_capacity[d] = shardsOf(in);
            std::int64_t used = m_capacity[d];
            popNow(d, 0);
            while (m_capacity[d] > 1 && !out.empty()) {
                const auto part = fit(out.front(), m_capacity[d]);
                if (!part)
                    break;
                out.erase(out.begin());
                appendAxis(m_now[d], part->within);
                if (part->rest)
                    out.insert(out.begin(), *part->rest);
            }
            coming.insert(coming.end(), out.begin(), out.end());
            used /= m_capacity[d];
            std::erase_if(in, isWanted);
            while (used > 1 && !in.empty()) {
                const auto part = fit(in.front(), used);
                if (!part)
                    break;
                in.erase(in.begin());
                leaving[d].push_back(part->within);
                if (part->rest)
                    in.insert(in.begin(), *part->rest);
            }
            leaving[d].insert(leaving[d].begin(), in.begin(), in.end());
            in.clear();
        }
        const auto nothing = [](const AxisRef&, std::size_t) {};
        distribute(coming, false, nothing);
        AxisList cut, rest;
        for (std::size_t d = 0; d < rank(); ++d)
            place(leaving[d], d, true, cut, nothing);
        align(m_in, m_out, cut);
        for (const AxisList& axes : leaving)
            rest.insert(rest.end(), axes.begin(), axes.end());
        distribute(rest, true, nothing);
        for (std::size_t d = 0; d < rank(); ++d)
            for (const AxisRef& axis : m_in[d])
                appendAxis(m_now[d], axis);
        add({AxisCollective::Kind::Permute, {}, {}, 0, 0, {}});
    }

    // --- all-to-all
    // ----------------------------------------------------------------------------------------

    void exchange(bool anyOrder) {
        for (std::size_t source = 0; source < rank(); ++source)
            while (exchangeFrom(source, anyOrder)) {
            }
    }

    bool exchangeFrom(std::size_t source, bool anyOrder) {
        AxisList& in = m_in[source];
        std::size_t first = in.size();
        std::optional<std::size_t> target;
        while (first > 0) {
            const auto place = wanted(in[first - 1]);
            if (!place || place->dim == source || (target && place->dim != *target))
                break;
            target = place->dim;
            --first;
        }
        if (!target)
            return false;
        AxisList& out = m_out[*target];
        const AxisList moving(in.begin() + static_cast<std::ptrdiff_t>(first), in.end());
        if (!anyOrder &&
            (moving.size() > out.size() || !std::equal(moving.begin(), moving.end(), out.begin())))
            return false;
        popNow(source, first);
        in.resize(first);
        AxisCollective collective{AxisCollective::Kind::AllToAll, {}, {}, source, *target, {}};
        for (const AxisRef& axis : moving) {
            appendAxis(collective.moved, axis);
            appendAxis(m_now[*target], axis);
            if (m_in[*target].empty() && out.front() == axis)
                out.erase(out.begin());
            else
                m_in[*target].push_back(axis);
        }
        add(std::move(collective));
        return true;
    }

    // --- all-gather
    // ----------------------------------------------------------------------------------------

    void gather() {
        PerDim gathered(rank());
        bool any = false;
        for (std::size_t d = 0; d < rank(); ++d) {
            AxisList& in = m_in[d];
            std::size_t first = in.size();
            while (first > 0 && !wanted(in[first - 1]))
                --first;
            popNow(d, first);
            for (std::size_t i = first; i < in.size(); ++i)
                appendAxis(gathered[d], in[i]);
            any = any || first < in.size();
            in.resize(first);
        }
        if (any)
            add({AxisCollective::Kind::AllGather, std::move(gathered), {}, 0, 0, {}});
    }

    void startOver() {
        PerDim gathered = m_now;
        m_now.assign(rank(), {});
        if (std::any_of(gathered.begin(), gathered.end(),
                        [](const AxisList& l) { return !l.empty(); }))
            add({AxisCollective::Kind::AllGather, std::move(gathered), {}, 0, 0, {}});
        m_now = m_target;
        add({AxisCollective::Kind::Slice, m_target, {}, 0, 0, {}});
    }

    const std::vector<std::int64_t>& m_shape;
    PerDim m_in, m_out;  ///< What has to go and to come, a dimension.
    PerDim m_now, m_target;
    std::vector<std::int64_t> m_capacity;
    std::vector<AxisCollective> m_plan;
};

}  // namespace

std::vector<AxisCollective> planAxisReshard(const std::vector<std::int64_t>& shape,
                                            const std::vector<AxisList>& from,
                                            const std::vector<AxisList>& to) {
    return Planner(shape, from, to).run();
}

}  // namespace shardwright
