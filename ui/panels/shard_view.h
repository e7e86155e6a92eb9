// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/assign.h"
#include "run/run_events.h"

#include <QImage>
#include <QWidget>

#include <map>
#include <memory>
#include <vector>

namespace shardwright {

/// What a run is asked for to show a tensor as it lies at a node: "h", or where the node takes it
/// in another layout than it was made in, "h@mm2". Empty: a run cannot observe it.
std::string observedName(const Analysis& analysis, ValueId value, const TensorSlot& slot);

/// What each device holds of one tensor: devices as cells in mesh order, equal parts in equal
/// colours; after a run with the values as a heat map and their statistics.
class ShardView : public QWidget {
    Q_OBJECT

public:
    explicit ShardView(QWidget* parent = nullptr);

    /// A tensor as it lies at one node; without a node as its producer leaves it.
    void showTensor(std::shared_ptr<const Analysis> analysis, ValueId value, TensorSlot slot = {});
    /// Values of a run, of any tensors.
    void setShards(std::map<std::string, std::vector<RunShard>> shards);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

    struct Cell {
        int device = -1;
        QString elements;    ///< "[0:8, 0:128]", "nothing"
        QString statistics;  ///< Two lines; empty without a run.
        int part = 0;        ///< Cells with equal elements have equal numbers.
        QImage values;       ///< Null without a run.
    };
    const std::vector<Cell>& cells() const { return m_cells; }
    /// Whether the run kept what is shown.
    bool hasValues() const;
    QRect cellRect(int cell) const;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void rebuild();
    SlotMeaning meaning() const;
    QString title(const SlotMeaning& meaning) const;
    Cell cell(int device, const SlotMeaning& meaning, double scale) const;
    const RunShard* shardOf(int device, const SlotMeaning& meaning) const;
    std::vector<const RunShard*> kept() const;
    void paintCell(QPainter& painter, const Cell& cell, const QRect& rect) const;
    QSize cellSize() const;

    std::shared_ptr<const Analysis> m_analysis;
    ValueId m_value;
    TensorSlot m_slot;
    std::map<std::string, std::vector<RunShard>> m_shards;
    std::vector<Cell> m_cells;
    int m_columns = 1;
    QString m_title;
};

}  // namespace shardwright
