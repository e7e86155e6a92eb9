// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"
#include "rules/spatial.h"

#include <algorithm>
#include <cmath>

namespace shardwright {

namespace {

/// Where an output position reads, in units of the input; the same for every block of positions.
/// nullopt: it depends on the length of the whole dimension.
std::optional<double> readAt(const std::string& mode, double position, double scale) {
    if (mode == "asymmetric")
        return position / scale;
    if (mode == "half_pixel" || mode == "half_pixel_symmetric" || mode == "pytorch_half_pixel")
        return (position + 0.5) / scale - 0.5;
    return std::nullopt;
}

double nearest(const std::string& mode, double at) {
    if (mode == "round_prefer_floor")
        return std::ceil(at - 0.5);
    if (mode == "round_prefer_ceil")
        return std::floor(at + 0.5);
    return mode == "floor" ? std::floor(at) : std::ceil(at);
}

/// Along one dimension.
struct Scaling {
    std::int64_t in = 1, out = 1;
    bool resized = true;          ///< False: the operator leaves it as it is.
    std::optional<double> scale;  ///< nullopt: not constant.
};

struct Sampling {
    std::string mode = "nearest", coordinates = "half_pixel", rounding = "round_prefer_floor";
    bool antialias = false;
};

/// Whether blocks of `out / in` outputs (or one output a block of `in / out` inputs) read nothing
/// outside of their block.
bool blockwise(const Sampling& sampling, const Scaling& s) {
    if (!s.scale || s.in < 1 || s.out < 1 || sampling.antialias || sampling.mode == "cubic")
        return false;
    const std::int64_t up = s.out / s.in, down = s.in / s.out;
    const bool upwards = up > 1 && s.out % s.in == 0 && *s.scale == static_cast<double>(up);
    // Not through the reciprocal of a scale that is not exact.
    const bool downwards = down > 1 && (down & (down - 1)) == 0 && s.in % s.out == 0 &&
                           *s.scale * static_cast<double>(down) == 1.0;
    if ((!upwards && !downwards) || up > 64 || down > 64)
        return false;
    const double last = upwards ? 0 : static_cast<double>(down - 1);
    for (std::int64_t i = 0; i < (upwards ? up : 1); ++i) {
        const auto at = readAt(sampling.coordinates, static_cast<double>(i), *s.scale);
        if (!at)
            return false;
        const bool one = sampling.mode == "nearest";
        const double low = one ? nearest(sampling.rounding, *at) : std::floor(*at);
        const double high = one ? low : std::ceil(*at);
        if (low < 0 || high > last)
            return false;
    }
    return true;
}

/// Factors of the dimensions that are resized. What keeps its size at scale 1 is parallel, and so
/// are blocks that read nothing but themselves:
///   nearest, 2 x        h -> (h rep^)
///   linear, 2 x         h~ -> oh^
class ResizeMaker {
public:
    explicit ResizeMaker(const NodeContext& context) : m_maker(context), m_context(context) {}

    std::optional<Rule> run(const Sampling& sampling, std::size_t scales, int roi, int sizes) {
        const Sizes &x = m_maker.in(0), &y = m_maker.out(0);
        m_maker.require(x.size() == y.size());
        if (m_maker.failed())
            return std::nullopt;
        m_sampling = sampling;
        const auto all = scalingOf(x, y, scales, sizes);
        const bool cropped = sampling.coordinates == "tf_crop_and_resize";
        Dims in, out;
        for (std::size_t d = 0; d < x.size() && !m_maker.failed(); ++d) {
            const Scaling& s = all[d];
            const std::string name = "d" + std::to_string(d);
            if (!s.resized || (!cropped && s.in == s.out && s.scale == 1.0)) {
                m_maker.require(s.in == s.out);
                in.push_back({m_maker.parallel(name, s.in)});
                out.push_back(in.back());
            } else if (!cropped && blockwise(sampling, s)) {
                const char* reason = "a block is resized as a whole";
                const bool up = s.out > s.in;
                const int block = m_maker.parallel(name, std::min(s.in, s.out));
                const int rest = m_maker.whole("rep" + std::to_string(d),
                                               up ? s.out / s.in : s.in / s.out, reason);
                in.push_back(up ? std::vector<int>{block} : std::vector<int>{block, rest});
                out.push_back(up ? std::vector<int>{block, rest} : std::vector<int>{block});
            } else {
                const std::string reason = whyNot(s, cropped);
                in.push_back({s.scale && !cropped ? m_maker.neighbour(name, s.in, reason)
                                                  : m_maker.whole(name, s.in, reason)});
                out.push_back({m_maker.whole("o" + std::to_string(d), s.out, reason)});
            }
        }
        m_maker.input(0, std::move(in));
        m_maker.output(0, std::move(out));
        if (roi > 0)
            m_maker.wholeInput(static_cast<std::size_t>(roi), "roi", "the region is read whole");
        m_maker.wholeInput(scales, "scales", "the scales are read whole");
        if (sizes > 0) {
            m_maker.wholeInput(static_cast<std::size_t>(sizes), "sizes",
                               "the sizes are read whole");
            if (m_bySizes)
                localSizes(sizes);
        }
        return m_maker.finish();
    }

private:
    std::vector<Scaling> scalingOf(const Sizes& x, const Sizes& y, std::size_t scales, int sizes) {
        std::vector<Scaling> all(x.size());
        m_axes = m_context.attributeInts("axes");
        m_given = !m_axes.empty();
        if (!m_given)
            for (std::size_t d = 0; d < x.size(); ++d)
                m_axes.push_back(static_cast<std::int64_t>(d));
        for (std::size_t d = 0; d < x.size(); ++d)
            all[d] = {x[d], y[d], false, {}};
        m_maker.axes(m_axes, x.size());  // None twice.
        m_bySizes = sizes > 0 && m_context.hasInput(static_cast<std::size_t>(sizes)) &&
                    m_context.input(static_cast<std::size_t>(sizes)).elementCount() != 0;
        const std::vector<double> factors = m_bySizes ? std::vector<double>{} : constants(scales);
        m_maker.require(factors.empty() || factors.size() == m_axes.size());
        const bool stretched =
            m_context.attribute("keep_aspect_ratio_policy", "stretch") == "stretch";
        for (std::size_t i = 0; i < m_axes.size() && !m_maker.failed(); ++i) {
            const std::size_t d = m_maker.axis(m_axes[i], x.size());
            all[d].resized = true;
            if (!factors.empty())
                all[d].scale = factors[i];
            else if (m_bySizes && stretched && x[d] > 0)
                all[d].scale = static_cast<double>(y[d]) / static_cast<double>(x[d]);
        }
        return all;
    }

    /// Upsample had them as attributes before opset 9.
    std::vector<double> constants(std::size_t slot) const {
        if (m_context.opset < 7)
            return {1, 1, m_context.attribute("height_scale", 0.0),
                    m_context.attribute("width_scale", 0.0)};
        if (m_context.opset < 9)
            return m_context.attributeReals("scales");
        const ConstantValue* value = m_context.constantInput(slot);
        return value == nullptr ? std::vector<double>{} : value->reals;
    }

    std::string whyNot(const Scaling& s, bool cropped) const {
        if (cropped)
            return "the region counts along all of it";
        if (!s.scale)
            return m_bySizes ? "the scale follows from the other dimensions"
                             : "the scales are not constant";
        if (!readAt(m_sampling.coordinates, 0, 1))
            return "positions are scaled to all of it";
        return "a resized element is read from neighbours";
    }

    void localSizes(int slot) {
        Rewrite rewrite{Rewrite::Kind::LocalShapeInput};
        rewrite.slot = slot;
        if (m_given)
            for (const std::int64_t a : m_axes)
                rewrite.dims.push_back(
                    static_cast<int>(m_maker.axis(a, m_context.output(0).dims.size())));
        if (m_context.attribute("keep_aspect_ratio_policy", "stretch") == "stretch")
            m_maker.rewrite(std::move(rewrite));
    }

    RuleMaker m_maker;
    const NodeContext& m_context;
    Sampling m_sampling;
    Sizes m_axes;
    bool m_given = false, m_bySizes = false;
};

std::optional<Rule> buildResize(const NodeContext& context) {
    Sampling sampling;
    sampling.mode = context.attribute("mode", "nearest");
    if (context.opset < 11) {
        sampling.coordinates = "asymmetric";
        sampling.rounding = "floor";
        return ResizeMaker(context).run(sampling, 1, -1, -1);
    }
    sampling.coordinates = context.attribute("coordinate_transformation_mode", "half_pixel");
    sampling.rounding = context.attribute("nearest_mode", "round_prefer_floor");
    sampling.antialias = context.attribute("antialias", 0) != 0;
    return ResizeMaker(context).run(sampling, 2, 1, 3);
}

std::optional<Rule> buildUpsample(const NodeContext& context) {
    Sampling sampling{context.attribute("mode", "nearest"), "asymmetric", "floor", false};
    return ResizeMaker(context).run(sampling, 1, -1, -1);
}

/// [2,3,8,8], grid [2,5,6,2]      n c x0^ x1^, n y0 y1 at^ -> n c y0 y1
std::optional<Rule> buildGridSample(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &grid = maker.in(1), &y = maker.out(0);
    maker.require(x.size() >= 3 && grid.size() == x.size() && y.size() == x.size());
    if (maker.failed())
        return std::nullopt;
    const int n = maker.parallel("n", x[0]), c = maker.parallel("c", x[1]);
    Dims in{{n}, {c}}, at{{n}}, out{{n}, {c}};
    for (const auto& dim : maker.wholeDims(spatialSizes(x), "x", "the grid may point anywhere"))
        in.push_back(dim);
    for (const auto& dim : maker.parallelDims(spatialSizes(y), "y")) {
        at.push_back(dim);
        out.push_back(dim);
    }
    at.push_back({maker.whole("at", grid.back(), "a position is a tuple")});
    maker.input(0, std::move(in));
    maker.input(1, std::move(at));
    maker.output(0, std::move(out));
    maker.flops(10 * maker.elements(y));
    return maker.finish();
}

/// [2,2,3], size -> [2,4,5,2]      n row^ column^, size^ -> n y0^ y1^ at^
std::optional<Rule> buildAffineGrid(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &theta = maker.in(0), &y = maker.out(0);
    maker.require(theta.size() == 3 && y.size() >= 3 && theta[0] == y[0]);
    if (maker.failed())
        return std::nullopt;
    const int n = maker.parallel("n", theta[0]);
    const Dims matrix =
        maker.wholeDims({theta[1], theta[2]}, "m", "every position needs the whole matrix");
    maker.input(0, {{n}, matrix[0], matrix[1]});
    maker.wholeInput(1, "size", "the size is read whole");
    Dims out{{n}};
    for (const auto& dim :
         maker.wholeDims(spatialSizes(y, 1), "y", "positions are scaled to all of it"))
        out.push_back(dim);
    maker.output(0, std::move(out));
    Rewrite rewrite{Rewrite::Kind::LocalShapeInput};
    rewrite.slot = 1;
    rewrite.dims = {0, -1};
    for (std::size_t d = 1; d + 1 < y.size(); ++d)
        rewrite.dims.push_back(static_cast<int>(d));
    maker.rewrite(std::move(rewrite));
    maker.flops(6 * maker.elements(y));
    return maker.finish();
}

/// [4,8] to 4 along 1      d0 d1~, 1 -> d0 d1~       a slice
/// [4,8] to 10 along 1     d0 d1^, 1 -> d0 o1^
std::optional<Rule> buildCenterCropPad(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    maker.require(x.size() == y.size());
    if (maker.failed())
        return std::nullopt;
    bool padded = false;
    for (std::size_t d = 0; d < x.size(); ++d)
        padded = padded || y[d] > x[d];
    Dims in, out;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const std::string name = "d" + std::to_string(d);
        if (x[d] == y[d]) {
            in.push_back({maker.parallel(name, x[d])});
            out.push_back(in.back());
        } else if (padded || y[d] == 0) {
            const char* reason = "it is cropped or padded around its centre";
            in.push_back({maker.whole(name, x[d], reason)});
            out.push_back({maker.whole("o" + std::to_string(d), y[d], reason)});
        } else {
            const int factor = maker.neighbour(name, x[d], "only the centre of it is taken");
            in.push_back({factor});
            out.push_back({factor});
            SliceExtra slice;
            slice.factor = factor;
            slice.start = (x[d] - y[d]) / 2;
            slice.count = y[d];
            slice.dim = static_cast<int>(d);
            maker.slice(slice);
            Rewrite rewrite{Rewrite::Kind::LocalSlice};
            rewrite.slot = 0;
            rewrite.dim = slice.dim;
            rewrite.factor = factor;
            maker.rewrite(std::move(rewrite));
        }
    }
    maker.input(0, std::move(in));
    maker.output(0, std::move(out));
    maker.wholeInput(1, "shape", "the shape is read whole");
    Rewrite rewrite{Rewrite::Kind::LocalShapeInput};
    rewrite.slot = 1;
    for (const std::int64_t a : context.attributeInts("axes"))
        rewrite.dims.push_back(static_cast<int>(maker.axis(a, x.size())));
    maker.rewrite(std::move(rewrite));
    maker.flops(0);
    return maker.finish();
}

/// [2,12,9], blocks of 2 x 2      n (c k^) l^, image^, block^ -> n c y0^ y1^
std::optional<Rule> buildCol2Im(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    maker.require(x.size() == 3 && y.size() >= 3 && x[0] == y[0]);
    if (maker.failed() || y[1] <= 0 || x[1] % y[1] != 0)
        return std::nullopt;
    const int n = maker.parallel("n", x[0]), c = maker.parallel("c", y[1]);
    const char* reason = "blocks are added where they overlap";
    maker.input(
        0, {{n}, {c, maker.whole("k", x[1] / y[1], reason)}, {maker.whole("l", x[2], reason)}});
    maker.wholeInput(1, "image", "the shape is read whole");
    maker.wholeInput(2, "block", "the shape is read whole");
    Dims out{{n}, {c}};
    for (const auto& dim : maker.wholeDims(spatialSizes(y), "y", reason))
        out.push_back(dim);
    maker.output(0, std::move(out));
    maker.flops(maker.elements(x));
    return maker.finish();
}

}  // namespace

void registerResize(Registry& registry) {
    const std::string family = "resize";
    registry.add({"",
                  "Resize",
                  family,
                  false,
                  noRuleInProposal("Resize"),
                  buildResize,
                  {1, 2, 3},
                  {},
                  true});
    registry.add({"",
                  "Upsample",
                  family,
                  false,
                  noRuleInProposal("Upsample"),
                  buildUpsample,
                  {1},
                  {},
                  true});
    for (const auto& [op, build] : {std::pair{"GridSample", &buildGridSample},
                                    {"AffineGrid", buildAffineGrid},
                                    {"CenterCropPad", buildCenterCropPad},
                                    {"Col2Im", buildCol2Im}})
        registry.add({"", op, family, false, noRuleInProposal(op), build, {}, {}, true, {}});
}

}  // namespace shardwright
