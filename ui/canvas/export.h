// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/canvas/graph_canvas.h"

#include <QRectF>
#include <QString>

class QPainter;

namespace shardwright {

struct ExportOptions {
    QRectF part;         ///< In the scene; empty: the whole drawing.
    double scale = 1.0;  ///< Pixels a scene unit, for PNG.
    bool dark = false;
    bool transparent = false;  ///< PNG and SVG without a background.
    QString title;             ///< Written into SVG and PDF.
    GraphCanvas::EdgeText edgeText = GraphCanvas::EdgeText::Shape;
    GraphCanvas::Marks marks = GraphCanvas::AllMarks;
};

/// Largest side of a PNG in pixels.
inline constexpr int kMaxPngSide = 16384;

/// Writes the drawing as SVG, PNG or PDF, by the ending of `path`. `analysis` may be null. On
/// failure says why in `error`: an unknown ending, too large for PNG (with what to do), or the
/// file's own reason.
bool exportGraph(const PlacedScene& scene, std::shared_ptr<const Analysis> analysis,
                 const QString& path, const ExportOptions& options, QString* error);

/// Builds and lays out a drawing here and now, for programs without a window. `expandEverything`
/// opens all scopes.
std::shared_ptr<const PlacedScene> drawModel(std::shared_ptr<const Model> model,
                                             bool expandEverything);

}  // namespace shardwright
