// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPixmap>
#include <QPointer>
#include <QWidget>

namespace shardwright {

class GraphCanvas;

/// The whole drawing in a corner with the part on screen marked; a click or drag goes there.
class Minimap : public QWidget {
    Q_OBJECT

public:
    explicit Minimap(GraphCanvas* canvas, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    /// Where the visible part is drawn, in this widget's pixels.
    QRectF viewFrame() const;
    /// The drawing's bounds in the scene that this map shows.
    QRectF shownBounds() const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void drawingChanged();
    void redraw();
    double scale() const;
    QPointF toWidget(QPointF scenePoint) const;
    void goTo(QPointF widgetPoint);

    QPointer<GraphCanvas> m_canvas;
    QPixmap m_picture;
};

}  // namespace shardwright
