// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/export.h"

#include "check/analysis.h"
#include "ui/canvas/overlay.h"
#include "ui/canvas/scene_painter.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QFileInfo>
#include <QImage>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>
#include <QSvgGenerator>

#include <cmath>

namespace shardwright {

namespace {

QString text(const char* source) {
    return QCoreApplication::translate("GraphExport", source);
}

QPalette exportPalette(bool dark) {
    QPalette palette;
    palette.setColor(QPalette::Base, dark ? QColor(0x1e, 0x20, 0x24) : QColor(Qt::white));
    palette.setColor(QPalette::Text, dark ? QColor(0xe6, 0xe6, 0xe6) : QColor(0x1c, 0x1e, 0x21));
    return palette;
}

class GraphExport {
public:
    GraphExport(const PlacedScene& scene, std::shared_ptr<const Analysis> analysis,
                const ExportOptions& options)
        : m_scene(scene), m_options(options),
          m_theme(CanvasTheme::fromPalette(exportPalette(options.dark))) {
        m_part = options.part.isEmpty() ? scene.bounds() : options.part;
        if (m_part.isEmpty())
            m_part = QRectF(0, 0, 100, 100);
        if (analysis && analysis->document.model == scene.structure()->model())
            m_overlay = Overlay::build(std::move(analysis), *scene.structure());
    }

    QByteArray svg() const {
        QBuffer buffer;
        buffer.open(QIODevice::WriteOnly);
        QSvgGenerator generator;
        generator.setOutputDevice(&buffer);
        generator.setTitle(m_options.title);
        generator.setSize(m_part.size().toSize());
        generator.setViewBox(QRectF(QPointF(), m_part.size()));
        generator.setResolution(96);
        QPainter painter(&generator);
        draw(painter, 1, !m_options.transparent);
        painter.end();
        return buffer.data();
    }

    QByteArray pdf() const {
        QBuffer buffer;
        buffer.open(QIODevice::WriteOnly);
        QPdfWriter writer(&buffer);
        writer.setTitle(m_options.title);
        writer.setCreator(QStringLiteral("Shardwright"));
        // PDF pages have at most 14400 points a side; a larger drawing is scaled to that.
        const double points = std::min(0.75, 14400 / std::max(m_part.width(), m_part.height()));
        writer.setResolution(144);
        writer.setPageMargins(QMarginsF());
        writer.setPageSize(
            QPageSize(m_part.size() * points, QPageSize::Point, {}, QPageSize::ExactMatch));
        QPainter painter(&writer);
        draw(painter, points * 2, true);
        painter.end();
        return buffer.data();
    }

    QByteArray png(QString* error) const {
        const double width = std::ceil(m_part.width() * m_options.scale);
        const double height = std::ceil(m_part.height() * m_options.scale);
        if (width > kMaxPngSide || height > kMaxPngSide) {
            *error = text("The picture would be %1 by %2 pixels; a PNG may have %3 a side. "
                          "SVG and PDF have no such limit.")
                         .arg(width, 0, 'f', 0)
                         .arg(height, 0, 'f', 0)
                         .arg(kMaxPngSide);
            return {};
        }
        QImage image(std::max(1, static_cast<int>(width)), std::max(1, static_cast<int>(height)),
                     QImage::Format_ARGB32_Premultiplied);
        if (image.isNull()) {
            *error =
                text("Not enough memory for a picture of %1 by %2 pixels.").arg(width).arg(height);
            return {};
        }
        image.fill(Qt::transparent);
        QPainter painter(&image);
        draw(painter, m_options.scale, !m_options.transparent);
        painter.end();
        QBuffer buffer;
        buffer.open(QIODevice::WriteOnly);
        image.save(&buffer, "PNG");
        return buffer.data();
    }

private:
    void draw(QPainter& painter, double scale, bool background) const {
        painter.scale(scale, scale);
        painter.translate(-m_part.topLeft());
        painter.setClipRect(m_part);
        if (background)
            painter.fillRect(m_part, m_theme.background);
        // Vector formats are looked at from near: everything in full detail, whatever the scale of
        // the page.
        ScenePainter scene(painter, m_scene, m_theme, std::max(scale, 1.0));
        scene.setFullDetail();
        scene.setOverlay(m_overlay.get(), m_options.edgeText, m_options.marks);
        scene.paint(m_part);
    }

    const PlacedScene& m_scene;
    const ExportOptions& m_options;
    CanvasTheme m_theme;
    QRectF m_part;
    std::shared_ptr<const Overlay> m_overlay;
};

}  // namespace

bool exportGraph(const PlacedScene& scene, std::shared_ptr<const Analysis> analysis,
                 const QString& path, const ExportOptions& options, QString* error) {
    QString reason;
    if (!error)
        error = &reason;
    const GraphExport drawing(scene, std::move(analysis), options);
    const QString ending = QFileInfo(path).suffix().toLower();
    QByteArray bytes;
    if (ending == QStringLiteral("svg")) {
        bytes = drawing.svg();
    } else if (ending == QStringLiteral("pdf")) {
        bytes = drawing.pdf();
    } else if (ending == QStringLiteral("png")) {
        bytes = drawing.png(error);
        if (bytes.isEmpty())
            return false;
    } else {
        *error = text("'%1' does not end in .svg, .png or .pdf.").arg(path);
        return false;
    }
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit()) {
        *error = text("%1: %2").arg(path, file.errorString());
        return false;
    }
    return true;
}

std::shared_ptr<const PlacedScene> drawModel(std::shared_ptr<const Model> model,
                                             bool expandEverything) {
    const FontTextMetrics metrics;
    GraphScene scene(SceneStructure::build(std::move(model), metrics));
    if (expandEverything)
        scene.expandAll();
    return scene.place();
}

}  // namespace shardwright
