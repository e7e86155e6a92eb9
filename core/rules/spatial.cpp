// SPDX-License-Identifier: Apache-2.0
#include "rules/spatial.h"

#include <algorithm>

namespace shardwright {

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;  ///< Beyond this, attributes are nonsense.

/// One number a dimension; `otherwise` where the attribute is absent.
Sizes perDimension(RuleMaker& maker, const char* name, std::size_t count, std::int64_t otherwise) {
    Sizes values = maker.context().attributeInts(name);
    if (values.empty())
        values.assign(count, otherwise);
    maker.require(values.size() == count);
    for (const std::int64_t value : values)
        maker.require(value >= -kMost && value <= kMost);
    values.resize(count, otherwise);
    return values;
}

/// auto_pad SAME_UPPER and SAME_LOWER: as many windows as there are strides.
void padSame(Window& window, std::int64_t size, bool upper) {
    const std::int64_t count = (size + window.stride - 1) / window.stride;
    const std::int64_t reach =
        (count - 1) * window.stride + (window.kernel - 1) * window.dilation + 1;
    const std::int64_t total = std::max<std::int64_t>(0, reach - size);
    window.padBegin = upper ? total / 2 : total - total / 2;
    window.padEnd = total - window.padBegin;
}

std::string reasonOf(const Window& window) {
    const std::int64_t reach = (window.kernel - 1) * window.dilation + 1;
    std::string reason;
    if (reach > window.stride)
        reason = "windows of " + std::to_string(reach) + ", " + std::to_string(window.stride) +
                 " apart, read neighbours";
    else if (reach < window.stride)
        reason = "windows of " + std::to_string(reach) + " are " + std::to_string(window.stride) +
                 " apart";
    else
        reason = "windows of " + std::to_string(reach) + " do not fill it";
    if (window.padded())
        reason += ", and padding is added at its ends";
    return reason;
}

}  // namespace

std::vector<Window> windowsOf(RuleMaker& maker, const Sizes& kernel, const Sizes& spatial) {
    const std::size_t count = spatial.size();
    std::vector<Window> windows(count);
    maker.require(kernel.size() == count);
    const Sizes strides = perDimension(maker, "strides", count, 1);
    const Sizes dilations = perDimension(maker, "dilations", count, 1);
    const Sizes pads = perDimension(maker, "pads", 2 * count, 0);
    const std::string autoPad = maker.context().attribute("auto_pad", "NOTSET");
    for (std::size_t d = 0; d < count && !maker.failed(); ++d) {
        maker.require(kernel[d] >= 1 && kernel[d] <= kMost && strides[d] >= 1 &&
                      dilations[d] >= 1 && spatial[d] <= kMost);
        windows[d] = {kernel[d], strides[d], dilations[d], 0, 0, false};
        if (maker.failed())
            break;
        if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER")
            padSame(windows[d], spatial[d], autoPad == "SAME_UPPER");
        else if (autoPad != "VALID")
            windows[d].padBegin = pads[d], windows[d].padEnd = pads[count + d];
    }
    return windows;
}

std::string spatialName(std::size_t dim, std::size_t count) {
    static const char* const kNames[][3] = {{"l"}, {"h", "w"}, {"d", "h", "w"}};
    return count >= 1 && count <= 3 ? kNames[count - 1][dim] : "s" + std::to_string(dim);
}

std::optional<SliceExtra> haloOf(const Window& window, std::int64_t size, std::int64_t count) {
    const std::int64_t reach = (window.kernel - 1) * window.dilation + 1;
    if (size < 2 || count < 2 || window.padBegin < 0 || window.padEnd < 0 ||
        window.padBegin >= reach || window.sizeGiven)
        return std::nullopt;
    // Windows begin at o * stride - padBegin; the own element lies in their middle, if it can.
    const std::int64_t last = (count - 1) * window.stride;
    const std::int64_t room = size - 1 - last;
    if (room < 0 || last - window.padBegin + reach > size + window.padEnd)
        return std::nullopt;
    SliceExtra extra;
    extra.window = true;
    extra.start = std::clamp<std::int64_t>((reach - 1) / 2 - window.padBegin, 0, room);
    extra.step = window.stride;
    extra.count = count;
    extra.before = extra.start + window.padBegin;
    extra.after = reach - 1 - extra.before;
    return extra;
}

SpatialDims spatialDims(RuleMaker& maker, const std::vector<Window>& windows, const Sizes& wide,
                        const Sizes& narrow, int wideSlot) {
    SpatialDims dims;
    bool halo = false;
    maker.require(wide.size() == windows.size() && narrow.size() == windows.size());
    for (std::size_t d = 0; d < windows.size() && !maker.failed(); ++d) {
        const Window& window = windows[d];
        const std::string name = spatialName(d, windows.size());
        const bool sideBySide = window.kernel == window.stride &&
                                (window.dilation == 1 || window.kernel == 1) && !window.padded();
        const int kernel = maker.whole("k" + name, window.kernel,
                                       sideBySide ? "a window is taken whole"
                                                  : "the kernel slides over all of it");
        dims.kernel.push_back({kernel});
        std::int64_t covered = 0;
        maker.require(!__builtin_mul_overflow(narrow[d], window.kernel, &covered));
        if (sideBySide && covered == wide[d]) {
            const int factor = maker.parallel(name, narrow[d]);
            dims.wide.push_back({factor, kernel});
            dims.narrow.push_back({factor});
            continue;
        }
        const std::string reason = reasonOf(window);
        if (auto extra = haloOf(window, wide[d], narrow[d]); extra && wideSlot >= 0) {
            extra->factor = maker.neighbour(name, wide[d], reason);
            extra->inputSlot = wideSlot;
            extra->dim = static_cast<int>(d) + 2;
            dims.wide.push_back({extra->factor});
            dims.narrow.push_back({extra->factor});
            maker.slice(*extra);
            halo = true;
        } else if (wideSlot < 0) {
            dims.narrow.push_back({maker.neighbour(name, narrow[d], reason)});
            dims.wide.push_back({maker.whole("o" + name, wide[d], reason)});
        } else {
            dims.wide.push_back({maker.neighbour(name, wide[d], reason)});
            dims.narrow.push_back({maker.whole("o" + name, narrow[d], reason)});
        }
    }
    if (halo) {
        Rewrite rewrite{Rewrite::Kind::LocalPads};
        rewrite.dim = 2;
        rewrite.name = "pads";
        for (const Window& window : windows)
            rewrite.axes.push_back(window.padBegin);
        for (const Window& window : windows)
            rewrite.axes.push_back(window.padEnd);
        maker.rewrite(std::move(rewrite));
    }
    return dims;
}

Sizes spatialSizes(const Sizes& sizes, std::size_t first) {
    return first < sizes.size()
               ? Sizes(sizes.begin() + static_cast<std::ptrdiff_t>(first), sizes.end())
               : Sizes{};
}

}  // namespace shardwright
