// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QPalette>

#include <string_view>

namespace shardwright {

/// Kinds of operators that are told apart by colour.
enum class OpFamily {
    MatrixProduct,  ///< MatMul, Gemm, Conv, attention ...
    Elementwise,
    Activation,
    Normalisation,
    Reduction,
    Movement,  ///< Reshape, Transpose, Concat, Gather ...
    Constant,
    Control,  ///< If, Loop, Scan
    Quantisation,
    Function,  ///< Calls of model-local functions, operators of other domains.
    Other,
};

/// All colours of the drawing, derived from a palette so that it follows light and dark. Texts keep
/// a contrast of at least 4.5 to what lies behind them.
struct CanvasTheme {
    bool dark = false;
    QColor background, grid;
    QColor text, mutedText;
    QColor box, boxBorder;
    QColor scopeBox, scopeTitle, scopeFrame;
    QColor scopeFill[2];  ///< They alternate with depth.
    QColor input, output;
    QColor edge, portal, portalText;
    QColor accent;     ///< Selection.
    QColor highlight;  ///< Search results.
    QColor error, warning, information, communication, badgeText;

    static CanvasTheme fromPalette(const QPalette& palette);
    QColor family(OpFamily family) const;      ///< Of the header of a node.
    QColor familyText(OpFamily family) const;  ///< On that header.
    QColor axis(int axis) const;  ///< Of a mesh axis; colour-blind safe for the first eight.
    QColor stage(int stage) const;
};

/// (L1 + 0.05) / (L2 + 0.05) of WCAG 2.
double contrast(const QColor& a, const QColor& b);
/// Black or white, whichever is easier to read on `background`.
QColor readableOn(const QColor& background);

OpFamily opFamily(std::string_view domain, std::string_view opType);

}  // namespace shardwright
