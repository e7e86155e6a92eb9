// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"
#include "rules/spatial.h"

namespace shardwright {

namespace {

/// The axis is an attribute before opset 20. nullopt: not constant.
std::optional<std::int64_t> axisOf(const NodeContext& context) {
    if (context.opset < 20)
        return context.attribute("axis", 1);
    if (!context.hasInput(2))
        return -2;
    const auto given = context.constantInts(2);
    return given && given->size() == 1 ? std::optional(given->front()) : std::nullopt;
}

/// [2,8,1], axis 1      d0 d1^ part^, 1 -> d0 o1^ opart^
std::optional<Rule> buildDft(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    maker.require(x.size() == y.size() && x.size() >= 2);
    if (maker.failed())
        return std::nullopt;
    const auto axis = axisOf(context);
    const std::size_t at = axis ? maker.axis(*axis, x.size()) : 0;
    Dims in, out;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const std::string number = std::to_string(d);
        const bool part = d + 1 == x.size();
        if (axis && d != at && !part) {
            maker.require(x[d] == y[d]);
            in.push_back({maker.parallel("d" + number, x[d])});
            out.push_back(in.back());
            continue;
        }
        const char* reason = !axis  ? "the axis is not constant"
                             : part ? "real and imaginary parts belong together"
                                    : "each frequency is a sum along it";
        in.push_back({maker.whole(part ? "part" : "d" + number, x[d], reason)});
        out.push_back({maker.whole(part ? "opart" : "o" + number, y[d], reason)});
    }
    maker.input(0, std::move(in));
    maker.output(0, std::move(out));
    maker.wholeInput(1, "length", "the length is read whole");
    maker.wholeInput(2, "axis", "the axis is read whole");
    maker.flops(10 * maker.elements(y));
    return maker.finish();
}

/// How frames move along the signal; nullopt: not constant.
std::optional<Window> framesOf(const NodeContext& context, std::int64_t length) {
    const auto step = context.constantInts(1), given = context.constantInts(3);
    Window window;
    window.kernel = length;
    if (context.hasInput(2))
        window.kernel = context.input(2).elementCount();
    else if (context.hasInput(3))
        window.kernel = given && given->size() == 1 ? given->front() : 0;
    window.stride = step && step->size() == 1 ? step->front() : 0;
    return window.kernel > 0 && window.stride > 0 ? std::optional(window) : std::nullopt;
}

/// [2,32,1], step, window [8]      b l~ part^, 1, w^ -> b l~ f^ opart^
std::optional<Rule> buildStft(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    maker.require(x.size() >= 2 && x.size() <= 3 && y.size() == 4 && x[0] == y[0]);
    if (maker.failed())
        return std::nullopt;
    const int b = maker.parallel("b", x[0]);
    const char* frames = "frames overlap, and read neighbours";
    const int l = maker.neighbour("l", x[1], frames);
    const auto window = framesOf(context, x[1]);
    auto extra = window ? haloOf(*window, x[1], y[1]) : std::nullopt;
    if (extra) {
        extra->factor = l;
        extra->dim = 1;
        maker.slice(*extra);
    }
    Dims in{{b}, {l}};
    if (x.size() == 3)
        in.push_back({maker.whole("part", x[2], "real and imaginary parts belong together")});
    maker.input(0, std::move(in));
    maker.wholeInput(1, "step", "the step is read whole");
    maker.wholeInput(2, "w", "each frame is multiplied with all of it");
    maker.wholeInput(3, "length", "the length is read whole");
    maker.output(0, {{b},
                     {extra ? l : maker.whole("frame", y[1], frames)},
                     {maker.whole("f", y[2], "each frequency is a sum over the frame")},
                     {maker.whole("opart", y[3], "real and imaginary parts belong together")}});
    maker.flops(10 * maker.elements(y));
    return maker.finish();
}

}  // namespace

void registerSignal(Registry& registry) {
    registry.add(
        {"", "DFT", "signal", false, unsupportedInProposal("DFT"), buildDft, {2}, {}, true});
    registry.add(
        {"", "STFT", "signal", false, unsupportedInProposal("STFT"), buildStft, {1, 3}, {}, true});
}

}  // namespace shardwright
