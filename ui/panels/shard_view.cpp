// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/shard_view.h"

#include "run/observed_weights.h"
#include "sharding/shard_text.h"
#include "ui/canvas/canvas_theme.h"
#include "ui/panels/tensor_model.h"
#include "ui/window/text.h"

#include <QEvent>
#include <QHelpEvent>
#include <QLocale>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace shardwright {
namespace {

constexpr int kMargin = 8;
constexpr int kImage = 64;
constexpr int kMostDevices = 256;
constexpr int kMostIntervals = 3;

QString intervalsText(const IndexSet& set) {
    QStringList parts;
    for (const IndexSet::Interval& interval : set.intervals()) {
        if (parts.size() == kMostIntervals) {
            parts << QStringLiteral("…");
            break;
        }
        parts << QStringLiteral("%1:%2").arg(interval.begin).arg(interval.end);
    }
    return parts.join(u'+');
}

QString boxText(const Box& box) {
    QStringList dims;
    for (const IndexSet& set : box.dims)
        dims << intervalsText(set);
    return u'[' + dims.join(QStringLiteral(", ")) + u']';
}

QString boxesText(const std::vector<Box>& boxes) {
    if (boxes.empty())
        return ShardView::tr("nothing");
    QStringList parts;
    for (const Box& box : boxes)
        parts << boxText(box);
    return parts.join(QStringLiteral(" + "));
}

/// Blue below zero, red above, the paper's colour at zero; `scale` is the largest magnitude of all
/// shards.
QRgb heat(double value, double scale, bool dark) {
    if (!std::isfinite(value))
        return qRgb(255, 0, 255);
    const double share = scale > 0 ? std::clamp(std::abs(value) / scale, 0.0, 1.0) : 0.0;
    const int base[3] = {dark ? 44 : 247, dark ? 47 : 247, dark ? 54 : 247};
    const int end[3] = {value < 0 ? 58 : 216, value < 0 ? 122 : 74, value < 0 ? 214 : 58};
    const auto mix = [&](int i) {
        return static_cast<int>(base[i] + (end[i] - base[i]) * std::sqrt(share));
    };
    return qRgb(mix(0), mix(1), mix(2));
}

QImage heatMap(const RunShard& shard, double scale, bool dark) {
    if (shard.values.empty())
        return {};
    // The last dimension runs to the right, all others downwards.
    const auto count = static_cast<std::int64_t>(shard.values.size());
    const std::int64_t columns =
        std::clamp<std::int64_t>(shard.dims.empty() ? 1 : shard.dims.back(), 1, count);
    const std::int64_t rows = (count + columns - 1) / columns;
    constexpr std::int64_t kMostPixels = 4096;
    QImage image(static_cast<int>(std::min(columns, kMostPixels)),
                 static_cast<int>(std::min(rows, kMostPixels)), QImage::Format_ARGB32);
    image.fill(Qt::transparent);
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            if (const std::int64_t at = y * columns + x; at < count)
                image.setPixel(x, y, heat(shard.values[static_cast<std::size_t>(at)], scale, dark));
    return image;
}

Box boxOf(const RunShard& shard) {
    Box box;
    for (const auto& dim : shard.box) {
        std::vector<IndexSet::Interval> intervals;
        for (const auto& [begin, end] : dim)
            intervals.push_back({begin, end});
        box.dims.emplace_back(std::move(intervals));
    }
    return box;
}

QString statisticsText(const RunShard& shard) {
    const auto number = [](double value) { return QLocale().toString(value, 'g', 4); };
    QString text =
        ShardView::tr("%1 … %2\nmean %3, std %4")
            .arg(number(shard.min), number(shard.max), number(shard.mean), number(shard.deviation));
    if (shard.notFinite > 0)
        text += ShardView::tr(", %1 not finite").arg(shard.notFinite);
    return text;
}

}  // namespace

std::string observedName(const Analysis& analysis, ValueId value, const TensorSlot& slot) {
    const GraphIndex& graph = analysis.graph();
    std::string name = graph.value(value).name;
    if (slot.node && !slot.output && slot.node.index() < analysis.meaning.nodes.size() &&
        valueAt(graph, slot) == value) {
        const auto& inputs = analysis.meaning.nodes[slot.node.index()].inputs;
        const auto at = static_cast<std::size_t>(slot.slot);
        const std::string node = graph.place(slot.node).name;
        if (at < inputs.size() && !node.empty() && inputs[at].layout != inputs[at].arrives)
            name += '@' + node;
    }
    const auto found = findObserved(analysis, name);
    return found && found->value == value ? name : std::string();
}

ShardView::ShardView(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Shards of the selected tensor"));
}

void ShardView::showTensor(std::shared_ptr<const Analysis> analysis, ValueId value,
                           TensorSlot slot) {
    m_analysis = std::move(analysis);
    m_value = value;
    m_slot = slot;
    rebuild();
}

void ShardView::setShards(std::map<std::string, std::vector<RunShard>> shards) {
    m_shards = std::move(shards);
    rebuild();
}

bool ShardView::hasValues() const {
    return std::ranges::any_of(m_cells,
                               [](const Cell& cell) { return !cell.statistics.isEmpty(); });
}

/// How the tensor lies at the node that is shown, else where it is made.
SlotMeaning ShardView::meaning() const {
    const Meaning& all = m_analysis->meaning;
    if (m_slot.node && m_slot.node.index() < all.nodes.size() &&
        valueAt(m_analysis->graph(), m_slot) == m_value) {
        const NodeMeaning& node = all.nodes[m_slot.node.index()];
        const auto& places = m_slot.output ? node.outputs : node.inputs;
        if (static_cast<std::size_t>(m_slot.slot) < places.size())
            return places[static_cast<std::size_t>(m_slot.slot)];
    }
    const ValueMeaning& value = all.values[m_value.index()];
    return {value.source, value.layout, {}, false};
}

/// Of the tensor at this node, and as it was made.
std::vector<const RunShard*> ShardView::kept() const {
    const std::string& name = m_analysis->graph().value(m_value).name;
    std::vector<const RunShard*> shards;
    for (const std::string& each : {observedName(*m_analysis, m_value, m_slot), name}) {
        if (!shards.empty() && each == name && shards.front()->tensor == name)
            break;
        if (const auto found = m_shards.find(each); found != m_shards.end())
            for (const RunShard& shard : found->second)
                shards.push_back(&shard);
    }
    return shards;
}

const RunShard* ShardView::shardOf(int device, const SlotMeaning& meaning) const {
    const auto held = meaning.layout ? meaning.layout->holding(device) : std::vector<Box>();
    for (const RunShard* shard : kept()) {
        // A weight may be cut differently for several nodes, and a tensor may have been brought to
        // another layout on its way here.
        const bool here = !meaning.layout || std::ranges::find(held, boxOf(*shard)) != held.end();
        if (shard->device == device && here)
            return shard;
    }
    return nullptr;
}

QString ShardView::title(const SlotMeaning& meaning) const {
    const ValueInfo& info = m_analysis->graph().value(m_value);
    const QString layout = meaning.layout
                               ? toQt(shortText(*meaning.layout, m_analysis->configuration.mesh))
                               : sourceText(meaning.source);
    const QString what = oneLine(info.name, 60) + u' ' +
                         shapeText(m_analysis->shapes->of(m_value)) + QStringLiteral(" · ") +
                         layout;
    return m_slot.node
               ? tr("%1 at %2").arg(what, oneLine(m_analysis->graph().label(m_slot.node), 60))
               : what;
}

ShardView::Cell ShardView::cell(int device, const SlotMeaning& meaning, double scale) const {
    Cell cell;
    cell.device = device;
    cell.elements = meaning.layout ? boxesText(meaning.layout->holding(device))
                    : meaning.source == LayoutSource::Everywhere ? tr("everything")
                                                                 : tr("unknown");
    if (const RunShard* shard = shardOf(device, meaning)) {
        cell.statistics = statisticsText(*shard);
        cell.values = heatMap(*shard, scale, CanvasTheme::fromPalette(palette()).dark);
    }
    return cell;
}

void ShardView::rebuild() {
    m_cells.clear();
    m_title.clear();
    if (m_analysis && m_value && m_analysis->hasConfiguration &&
        m_value.index() < m_analysis->meaning.values.size()) {
        const SlotMeaning meaning = this->meaning();
        const Configuration& configuration = m_analysis->configuration;
        m_title = title(meaning);
        m_columns = configuration.mesh.axes.empty() ? configuration.deviceCount
                                                    : configuration.mesh.axes.back().size;
        m_columns = std::clamp(m_columns, 1, 16);
        double scale = 0;
        for (const RunShard* shard : kept())
            scale = std::max({scale, std::abs(shard->min), std::abs(shard->max)});
        QStringList parts;
        for (int device = 0; device < std::min(configuration.deviceCount, kMostDevices); ++device) {
            Cell next = cell(device, meaning, scale);
            next.part = static_cast<int>(parts.indexOf(next.elements));
            if (next.part < 0) {
                next.part = static_cast<int>(parts.size());
                parts << next.elements;
            }
            m_cells.push_back(std::move(next));
        }
    }
    QStringList texts{m_title};
    for (const Cell& each : m_cells)
        texts << tr("device %1").arg(each.device) + QStringLiteral(": ") + each.elements;
    setAccessibleDescription(texts.mid(0, 20).join(u'\n'));
    updateGeometry();
    update();
}

QSize ShardView::cellSize() const {
    bool values = false;
    int width = fontMetrics().averageCharWidth() * 20;
    for (const Cell& cell : m_cells) {
        values = values || !cell.values.isNull();
        width = std::max(width, fontMetrics().horizontalAdvance(cell.elements) + 20);
        for (const QString& line : cell.statistics.split(u'\n'))
            width = std::max(width, fontMetrics().horizontalAdvance(line) + 20);
    }
    const int line = fontMetrics().height();
    return {std::min(width, 320) + (values ? kImage + 6 : 0),
            values ? std::max(kImage, 4 * line) + 14 : 2 * line + 14};
}

QSize ShardView::sizeHint() const {
    if (m_cells.empty())
        return {200, 60};
    const int columns = std::min(m_columns, static_cast<int>(m_cells.size()));
    const int rows = (static_cast<int>(m_cells.size()) + columns - 1) / columns;
    const QSize cell = cellSize();
    return {columns * (cell.width() + kMargin) + kMargin,
            fontMetrics().height() + 2 * kMargin + rows * (cell.height() + kMargin)};
}

QRect ShardView::cellRect(int cell) const {
    const QSize size = cellSize();
    const int row = cell / m_columns, column = cell % m_columns;
    return {QPoint(kMargin + column * (size.width() + kMargin),
                   fontMetrics().height() + 2 * kMargin + row * (size.height() + kMargin)),
            size};
}

void ShardView::paintCell(QPainter& painter, const Cell& cell, const QRect& rect) const {
    const CanvasTheme theme = CanvasTheme::fromPalette(palette());
    const QColor colour = theme.axis(cell.part);
    QColor fill = colour;
    fill.setAlphaF(0.16F);
    painter.setPen(QPen(colour, 1));
    painter.setBrush(fill);
    painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    QRect inside = rect.adjusted(8, 5, -8, -5);
    if (!cell.values.isNull()) {
        painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
        const QRect image(inside.right() - kImage, inside.top() + 2, kImage, kImage - 4);
        painter.drawImage(image, cell.values);
        painter.setPen(palette().color(QPalette::Mid));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(image);
        inside.setRight(image.left() - 6);
    }
    const int line = fontMetrics().height();
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(QRect(inside.topLeft(), QSize(inside.width(), line)), Qt::AlignLeft,
                     tr("device %1").arg(cell.device));
    painter.drawText(QRect(inside.left(), inside.top() + line, inside.width(), line), Qt::AlignLeft,
                     fontMetrics().elidedText(cell.elements, Qt::ElideMiddle, inside.width()));
    painter.setPen(palette().color(QPalette::PlaceholderText));
    int y = inside.top() + 2 * line;
    for (const QString& text : cell.statistics.split(u'\n', Qt::SkipEmptyParts)) {
        painter.drawText(QRect(inside.left(), y, inside.width(), line), Qt::AlignLeft,
                         fontMetrics().elidedText(text, Qt::ElideRight, inside.width()));
        y += line;
    }
}

void ShardView::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRect titleRect(kMargin, kMargin / 2, width() - 2 * kMargin, fontMetrics().height() + 2);
    if (m_cells.empty()) {
        painter.setPen(palette().color(QPalette::PlaceholderText));
        painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap,
                         tr("Select a tensor to see what each device holds of it."));
        return;
    }
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(titleRect, Qt::AlignLeft | Qt::AlignVCenter,
                     fontMetrics().elidedText(m_title, Qt::ElideMiddle, titleRect.width()));
    for (int i = 0; i < static_cast<int>(m_cells.size()); ++i)
        if (cellRect(i).intersects(event->rect()))
            paintCell(painter, m_cells[static_cast<std::size_t>(i)], cellRect(i));
}

bool ShardView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        for (int i = 0; i < static_cast<int>(m_cells.size()); ++i) {
            const Cell& cell = m_cells[static_cast<std::size_t>(i)];
            if (cellRect(i).contains(help->pos())) {
                QToolTip::showText(help->globalPos(),
                                   toolTipText(tr("device %1").arg(cell.device) + u'\n' +
                                               cell.elements + u'\n' + cell.statistics),
                                   this, cellRect(i));
                return true;
            }
        }
        QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

void ShardView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        rebuild();
}

}  // namespace shardwright
