// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

/// Bounds of one axis, as far as they are constant.
struct Bound {
    bool sliced = false;
    bool constant = false;
    std::int64_t start = 0, end = 0, step = 1;
};

struct Bounds {
    bool axesKnown = true;
    std::vector<Bound> axes;
};

/// Starts, ends, axes, steps: attributes before opset 10, then inputs. Nothing: given, and not
/// constant.
struct RawBounds {
    std::optional<Sizes> starts, ends, axes, steps;
    bool hasAxes = false, hasSteps = false;
    std::size_t count = 0;
};

RawBounds readBounds(const NodeContext& context) {
    RawBounds raw;
    if (context.opset < 10) {
        raw.starts = context.attributeInts("starts");
        raw.ends = context.attributeInts("ends");
        raw.axes = context.attributeInts("axes");
        raw.hasAxes = !raw.axes->empty();
        raw.count = raw.starts->size();
        return raw;
    }
    raw.starts = context.constantInts(1);
    raw.ends = context.constantInts(2);
    raw.axes = context.constantInts(3);
    raw.steps = context.constantInts(4);
    raw.hasAxes = context.hasInput(3);
    raw.hasSteps = context.hasInput(4);
    const std::int64_t count = context.input(1).elementCount();
    raw.count = count > 0 ? static_cast<std::size_t>(count) : 0;
    return raw;
}

Bounds boundsOf(RuleMaker& maker, std::size_t rank) {
    RawBounds raw = readBounds(maker.context());
    Bounds bounds{true, std::vector<Bound>(rank)};
    if (raw.hasAxes && !raw.axes) {
        bounds.axesKnown = false;
        return bounds;
    }
    maker.require(raw.hasAxes || raw.count <= rank);
    if (maker.failed())
        return bounds;
    Sizes axes;
    if (raw.hasAxes)
        axes = *raw.axes;
    else
        for (std::size_t i = 0; i < raw.count; ++i)
            axes.push_back(static_cast<std::int64_t>(i));
    const bool constant = raw.starts && raw.ends && (raw.steps || !raw.hasSteps);
    for (const auto* values : {&raw.starts, &raw.ends, &raw.steps})
        maker.require(!values->has_value() || (*values)->size() == axes.size());
    maker.axes(axes, rank);  // None twice.
    for (std::size_t i = 0; i < axes.size() && !maker.failed(); ++i) {
        Bound& bound = bounds.axes[maker.axis(axes[i], rank)];
        bound.sliced = true;
        bound.constant = constant;
        if (constant) {
            bound.start = (*raw.starts)[i];
            bound.end = (*raw.ends)[i];
            bound.step = raw.steps ? (*raw.steps)[i] : 1;
        }
    }
    return bounds;
}

/// First index and number of indices that a slice takes of `size` elements, as ONNX clamps them. A
/// step that is taken once at most becomes 1.
SliceExtra clampSlice(const Bound& bound, std::int64_t size) {
    const bool up = bound.step > 0;
    const auto clamp = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
        if (at < 0)
            at += size;
        return at < low ? low : at > high ? high : at;
    };
    SliceExtra slice;
    const std::int64_t start = clamp(bound.start, 0, up ? size : size - 1);
    const std::int64_t end = clamp(bound.end, up ? 0 : -1, up ? size : size - 1);
    const std::int64_t span = up ? end - start : start - end;
    // Not -step, which does not exist for the smallest number.
    const std::uint64_t stride = up ? static_cast<std::uint64_t>(bound.step)
                                    : std::uint64_t{0} - static_cast<std::uint64_t>(bound.step);
    slice.start = start;
    slice.count =
        span <= 0 ? 0
                  : static_cast<std::int64_t>((static_cast<std::uint64_t>(span) - 1) / stride) + 1;
    slice.step = slice.count > 1 ? bound.step : 1;
    return slice;
}

class SliceMaker {
public:
    explicit SliceMaker(const NodeContext& context) : m_maker(context) {}

    std::optional<Rule> run() {
        const Sizes &x = m_maker.in(0), &y = m_maker.out(0);
        m_maker.require(x.size() == y.size());
        if (m_maker.failed())
            return std::nullopt;
        const Bounds bounds = boundsOf(m_maker, x.size());
        for (std::size_t d = 0; d < x.size() && !m_maker.failed(); ++d) {
            if (!bounds.axesKnown)
                apart(d, x[d], y[d], "the sliced axes are not constant");
            else if (!bounds.axes[d].sliced)
                together(d, x[d], y[d]);
            else if (!bounds.axes[d].constant)
                apart(d, x[d], y[d], "the bounds of the slice are not constant");
            else
                sliced(d, x[d], y[d], bounds.axes[d]);
        }
        m_maker.input(0, std::move(m_in));
        m_maker.output(0, std::move(m_out));
        const char* names[] = {"", "starts", "ends", "axes", "steps"};
        for (std::size_t slot = 1; slot < 5; ++slot)
            m_maker.wholeInput(slot, names[slot], "the bounds are read whole");
        m_maker.flops(0);
        return m_maker.finish();
    }

private:
    void together(std::size_t d, std::int64_t x, std::int64_t y) {
        m_maker.require(x == y);
        m_in.push_back({m_maker.parallel("d" + std::to_string(d), x)});
        m_out.push_back(m_in.back());
    }

    void apart(std::size_t d, std::int64_t x, std::int64_t y, const std::string& reason) {
        m_in.push_back({m_maker.whole("d" + std::to_string(d), x, reason)});
        m_out.push_back({m_maker.whole("o" + std::to_string(d), y, reason)});
    }

    void sliced(std::size_t d, std::int64_t x, std::int64_t y, const Bound& bound) {
        m_maker.require(bound.step != 0);
        if (m_maker.failed())
            return;
        SliceExtra slice = clampSlice(bound, x);
        m_maker.require(slice.count == y);
        if (slice.count == x && slice.step == 1)
            return together(
                d, x, y);  // All of it, and so of every shard: ONNX clamps the bounds there, too.
        if (slice.count == 0)
            return apart(d, x, y, "the slice is empty");
        const int factor =
            m_maker.neighbour("d" + std::to_string(d), x, "only a part of it is taken");
        m_in.push_back({factor});
        m_out.push_back({factor});
        slice.factor = factor;
        slice.dim = static_cast<int>(d);
        m_maker.slice(slice);
        Rewrite rewrite{Rewrite::Kind::LocalSlice};
        rewrite.slot = 0;
        rewrite.dim = slice.dim;
        rewrite.factor = factor;
        m_maker.rewrite(std::move(rewrite));
    }

    RuleMaker m_maker;
    Dims m_in, m_out;
};

}  // namespace

/// x[:, 1:3] of [2,4]      d0 d1~, starts^, ends^, axes^ -> d0 d1~
void registerSlice(Registry& registry) {
    registry.add({"",
                  "Slice",
                  "window",
                  false,
                  noRuleInProposal("Slice"),
                  [](const NodeContext& context) { return SliceMaker(context).run(); },
                  {1, 2, 3, 4},
                  {},
                  true});
    registry.describe("", "Slice", carries({0}));
}

}  // namespace shardwright
