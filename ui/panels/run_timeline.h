// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/run_events.h"

#include <QAbstractScrollArea>

#include <map>
#include <vector>

namespace shardwright {

/// The last pass over time: a row a device, segments above and collectives below, with waiting in
/// its own colour. Ctrl+wheel and + - zoom; a click on a bar leads to its node.
class RunTimeline : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit RunTimeline(QWidget* parent = nullptr);
    void clear();
    void add(const RunSegmentTiming& segment);
    void add(const RunExchangeTiming& exchange);

    struct Bar {
        int device = -1;
        bool exchange = false;
        double beginUs = 0, durationUs = 0, waitingUs = 0;
        RunPlace node{};
        QString text{};
    };
    const std::vector<Bar>& bars() const { return m_bars; }
    /// Where a bar is in the viewport now.
    QRectF barRect(std::size_t bar) const;
    /// -1: there is none.
    int barAt(QPointF position) const;
    void zoom(double factor, double atX);

signals:
    void nodeWanted(const shardwright::RunPlace& node);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    bool viewportEvent(QEvent* event) override;

private:
    void add(Bar bar);
    void fitScrollBars();
    int rowHeight() const;
    int axisHeight() const;
    double pixelsPerUs() const;
    double xOf(double us) const;
    int rowOf(int device) const;
    void paintAxis(QPainter& painter) const;
    void paintBar(QPainter& painter, const Bar& bar, const QRectF& rect) const;

    std::vector<Bar> m_bars;
    std::vector<int> m_devices;
    double m_endUs = 0;
    double m_zoom = 1;  ///< 1: all of it is seen.
};

}  // namespace shardwright
