// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/run_events.h"

#include <QWidget>

#include <vector>

namespace shardwright {

/// A horizontal bar a device, by device number: computing, communicating, waiting.
class TimingChart : public QWidget {
    Q_OBJECT

public:
    explicit TimingChart(QWidget* parent = nullptr);
    void setTimings(std::vector<RunDeviceTiming> timings);
    const std::vector<RunDeviceTiming>& timings() const { return m_timings; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint().boundedTo({260, 10000}); }
    /// Where the bar of a row begins and what a millisecond is wide.
    QRectF barRect(int row) const;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    double largest() const;
    int rowHeight() const;
    void paintLegend(QPainter& painter) const;
    QColor colour(int part) const;
    QString rowText(const RunDeviceTiming& timing) const;

    std::vector<RunDeviceTiming> m_timings;
};

}  // namespace shardwright
