// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/rule_maker.h"

namespace shardwright {

/// How a window moves along one spatial dimension.
struct Window {
    std::int64_t kernel = 1, stride = 1, dilation = 1;
    std::int64_t padBegin = 0, padEnd = 0;
    bool sizeGiven = false;  ///< ConvTranspose: output_shape or output_padding says how long it is.

    bool padded() const { return padBegin != 0 || padEnd != 0 || sizeGiven; }
};

/// The windows of a convolution or pool over `spatial` sizes, from the attributes strides,
/// dilations, pads and auto_pad. Attributes of a wrong length fail the maker.
std::vector<Window> windowsOf(RuleMaker& maker, const Sizes& kernel, const Sizes& spatial);

/// "l"; "h", "w"; "d", "h", "w"; else "s0", "s1", ...
std::string spatialName(std::size_t dim, std::size_t count);

/// Factors along the spatial dimensions of input, kernel and output.
struct SpatialDims {
    Dims wide, kernel, narrow;
};

/// `wide` is slid over: the input of Conv and of pools, the output of ConvTranspose; `narrow` has
/// one element a window. Windows of one element one apart, and windows that lie side by side
/// without gap or padding, are independent of each other:
///   kernel 1, stride 1           h, 1 -> h
///   kernel 2, stride 2 of 8      (h kh^), kh^ -> h
///   kernel 3, stride 1, pads 1   h~, kh^ -> h~       with a halo
/// `wideSlot` is the input that is slid over, from dimension 2 on; -1: `wide` is the output, whose
/// dimension is then whole.
SpatialDims spatialDims(RuleMaker& maker, const std::vector<Window>& windows, const Sizes& wide,
                        const Sizes& narrow, int wideSlot);

/// The extra for windows that read neighbours: output o of `count` reads around one element of
/// `size` that is its own. Nothing where the windows leave the tensor by more than their padding.
std::optional<SliceExtra> haloOf(const Window& window, std::int64_t size, std::int64_t count);

/// Dims from `first` on.
Sizes spatialSizes(const Sizes& sizes, std::size_t first = 2);

}  // namespace shardwright
