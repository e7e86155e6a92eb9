// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/chips.h"

#include "sharding/shard_text.h"
#include "ui/canvas/canvas_theme.h"
#include "ui/window/text.h"

#include <QApplication>
#include <QCoreApplication>
#include <QPainter>
#include <QStyle>

namespace shardwright {
namespace {

constexpr int kPadding = 6;
constexpr int kGap = 3;
constexpr int kTextLimit = 40;

QString tr(const char* text) {
    return QCoreApplication::translate("Chips", text);
}

int chipWidth(const Chip& chip, const QFontMetrics& metrics) {
    return metrics.horizontalAdvance(chip.text) + (chip.colour.isValid() ? 2 * kPadding : 4);
}

QString componentsText(const Mesh& mesh, const std::vector<MeshComponent>& components) {
    QStringList parts;
    for (const MeshComponent& component : components) {
        QStringList names;
        for (const int axis : component.axes)
            names << toQt(mesh.axes[static_cast<std::size_t>(axis)].name);
        const QString text = names.join(u'+');
        parts << (components.size() == 1   ? text
                  : component.axes.empty() ? QString::number(component.size)
                                           : QStringLiteral("%1/%2").arg(component.size).arg(text));
    }
    return parts.join(QStringLiteral("·"));
}

int firstAxis(const std::vector<MeshComponent>& components) {
    for (const MeshComponent& component : components)
        if (!component.axes.empty())
            return component.axes.front();
    return -1;
}

}  // namespace

QColor axisColour(int axis, const QPalette& palette) {
    return CanvasTheme::fromPalette(palette).axis(axis);
}

QList<Chip> layoutChips(const Analysis& analysis, const LayoutRef& layout, LayoutSource source,
                        const QPalette& palette) {
    if (source == LayoutSource::Unknown)
        return {{tr("unknown"), {}, false}};
    if (source == LayoutSource::Everywhere || !layout)
        return {{tr("everywhere"), {}, false}};
    const bool filled = source == LayoutSource::Explicit;
    const QColor plain = palette.color(QPalette::Mid);
    const Mesh& mesh = analysis.configuration.mesh;
    const auto sharding = decode(mesh, *layout);
    if (!sharding)
        return {{oneLine(shortText(*layout, mesh), kTextLimit), plain, filled}};
    if (layout->isWhole()) {
        const bool all =
            static_cast<int>(layout->devices().size()) == analysis.configuration.deviceCount;
        const QString text =
            all ? tr("replicated") : tr("on %1").arg(deviceList(layout->devices()));
        return {{text, filled ? plain : QColor(), filled}};
    }
    QList<Chip> chips;
    for (const auto& components : sharding->dims) {
        const int axis = firstAxis(components);
        chips << (axis < 0
                      ? Chip{QStringLiteral("·"), {}, false}
                      : Chip{componentsText(mesh, components), axisColour(axis, palette), filled});
    }
    return chips;
}

QIcon axisIcon(const std::vector<int>& axes, const QPalette& palette, qreal ratio) {
    constexpr int kSide = 10;
    const int width = std::max(1, static_cast<int>(axes.size())) * (kSide + 2);
    QPixmap pixmap(QSize(width, 14) * ratio);
    pixmap.setDevicePixelRatio(ratio);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    if (axes.empty()) {
        painter.setPen(palette.color(QPalette::Dark));
        painter.drawRoundedRect(QRectF(0.5, 2.5, kSide - 1, kSide - 1), 2, 2);
    }
    painter.setPen(Qt::NoPen);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        painter.setBrush(axisColour(axes[i], palette));
        painter.drawRoundedRect(QRectF(static_cast<qreal>(i) * (kSide + 2), 2, kSide, kSide), 2, 2);
    }
    return pixmap;
}

QSize chipsSize(const QList<Chip>& chips, const QFont& font) {
    const QFontMetrics metrics(font);
    int width = 0;
    for (const Chip& chip : chips)
        width += chipWidth(chip, metrics) + kGap;
    return {width, metrics.height() + 4};
}

void paintChips(QPainter* painter, const QRect& rect, const QList<Chip>& chips,
                const QPalette& palette, bool selected) {
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setClipRect(rect);
    const QFontMetrics metrics(painter->font());
    const QColor plainText = palette.color(selected ? QPalette::HighlightedText : QPalette::Text);
    const int height = metrics.height() + 2;
    int x = rect.left();
    for (const Chip& chip : chips) {
        const QRect box(x, rect.center().y() - height / 2, chipWidth(chip, metrics), height);
        if (!chip.colour.isValid()) {
            painter->setPen(selected ? plainText : palette.color(QPalette::PlaceholderText));
        } else if (chip.filled) {
            painter->setPen(Qt::NoPen);
            painter->setBrush(chip.colour);
            painter->drawRoundedRect(box, 4, 4);
            painter->setPen(readableOn(chip.colour));
        } else {
            painter->setPen(QPen(chip.colour, 1.2));
            painter->setBrush(Qt::NoBrush);
            painter->drawRoundedRect(QRectF(box).adjusted(0.6, 0.6, -0.6, -0.6), 4, 4);
            painter->setPen(plainText);
        }
        painter->drawText(box, Qt::AlignCenter, chip.text);
        x += box.width() + kGap;
    }
    painter->restore();
}

void ChipDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
    const auto chips = index.data(ChipsRole).value<QList<Chip>>();
    if (chips.isEmpty())
        return QStyledItemDelegate::paint(painter, option, index);
    QStyleOptionViewItem background = option;
    initStyleOption(&background, index);
    background.text.clear();
    const QWidget* widget = option.widget;
    (widget ? widget->style() : QApplication::style())
        ->drawControl(QStyle::CE_ItemViewItem, &background, painter, widget);
    painter->setFont(background.font);
    paintChips(painter, option.rect.adjusted(4, 0, -2, 0), chips, option.palette,
               option.state.testFlag(QStyle::State_Selected));
}

QSize ChipDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const auto chips = index.data(ChipsRole).value<QList<Chip>>();
    const QSize plain = QStyledItemDelegate::sizeHint(option, index);
    if (chips.isEmpty())
        return plain;
    const QSize size = chipsSize(chips, option.font) + QSize(12, 2);
    return {size.width(), std::max(size.height(), plain.height())};
}

}  // namespace shardwright
