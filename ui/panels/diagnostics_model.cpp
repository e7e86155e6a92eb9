// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/diagnostics_model.h"

#include "ui/canvas/canvas_theme.h"
#include "ui/window/text.h"

#include <QApplication>
#include <QIcon>
#include <QPainter>

namespace shardwright {

QColor severityColour(Severity severity, const QPalette& palette) {
    const CanvasTheme theme = CanvasTheme::fromPalette(palette);
    switch (severity) {
        case Severity::Error: return theme.error;
        case Severity::Warning:
        case Severity::Unsupported: return theme.warning;
        case Severity::Communication: return theme.communication;
        case Severity::Info: return theme.information;
    }
    return theme.text;
}

QIcon severityIcon(Severity severity, const QPalette& palette) {
    constexpr int kSide = 14;
    const qreal ratio = qApp->devicePixelRatio();
    QPixmap pixmap(QSize(kSide, kSide) * ratio);
    pixmap.setDevicePixelRatio(ratio);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(severityColour(severity, palette));
    // Told apart by shape, too.
    const QRectF box(1.5, 1.5, kSide - 3, kSide - 3);
    switch (severity) {
        case Severity::Error: painter.drawEllipse(box); break;
        case Severity::Warning:
            painter.drawPolygon(
                QPolygonF{{kSide / 2.0, 1.0}, {kSide - 1.0, kSide - 1.5}, {1.0, kSide - 1.5}});
            break;
        case Severity::Unsupported:
            painter.drawPolygon(QPolygonF{{kSide / 2.0, 1.0},
                                          {kSide - 1.0, kSide / 2.0},
                                          {kSide / 2.0, kSide - 1.0},
                                          {1.0, kSide / 2.0}});
            break;
        case Severity::Communication:
            painter.drawRoundedRect(box.adjusted(0, 2.5, 0, -2.5), 2, 2);
            break;
        case Severity::Info: painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), 2, 2); break;
    }
    return pixmap;
}

void DiagnosticsModel::setAnalysis(std::shared_ptr<const Analysis> analysis) {
    beginResetModel();
    m_analysis = std::move(analysis);
    endResetModel();
}

const Diagnostic* DiagnosticsModel::diagnostic(int row) const {
    if (!m_analysis || row < 0 || static_cast<std::size_t>(row) >= m_analysis->diagnostics.size())
        return nullptr;
    return &m_analysis->diagnostics[static_cast<std::size_t>(row)];
}

int DiagnosticsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !m_analysis ? 0 : static_cast<int>(m_analysis->diagnostics.size());
}

int DiagnosticsModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QString DiagnosticsModel::nodeText(const Diagnostic& diagnostic) const {
    return diagnostic.node ? oneLine(m_analysis->graph().label(diagnostic.node)) : tr("model");
}

QVariant DiagnosticsModel::data(const QModelIndex& index, int role) const {
    const Diagnostic* diagnostic = index.isValid() ? this->diagnostic(index.row()) : nullptr;
    if (!diagnostic)
        return {};
    switch (role) {
        case Qt::DisplayRole:
            return index.column() == Code   ? toQt(diagnostic->code)
                   : index.column() == Node ? nodeText(*diagnostic)
                                            : oneLine(diagnostic->message, 600);
        case Qt::ToolTipRole: {
            QString text = toQt(diagnostic->message);
            if (index.column() == Node && diagnostic->node)
                text = toQt(m_analysis->graph()
                                .scope(m_analysis->graph().node(diagnostic->node).scope)
                                .path) +
                       u'/' + nodeText(*diagnostic);
            return toolTipText(text.left(4000));
        }
        case Qt::DecorationRole:
            return index.column() == Code
                       ? severityIcon(diagnostic->severity, QApplication::palette())
                       : QVariant();
        case Qt::AccessibleTextRole:
            return index.column() == Code ? QVariant(severityText(diagnostic->severity) + u' ' +
                                                     toQt(diagnostic->code))
                                          : data(index, Qt::DisplayRole);
        case SeverityRole: return static_cast<int>(diagnostic->severity);
        case SortRole:
            if (index.column() == Code)
                return QStringLiteral("%1%2")
                    .arg(static_cast<int>(diagnostic->severity))
                    .arg(toQt(diagnostic->code));
            return index.column() == Node ? QVariant(diagnostic->node.value)
                                          : data(index, Qt::DisplayRole);
        default: return {};
    }
}

QVariant DiagnosticsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (role != Qt::DisplayRole || orientation != Qt::Horizontal)
        return {};
    return section == Code ? tr("Code") : section == Node ? tr("Node") : tr("Message");
}

void DiagnosticsFilter::setShown(Severity severity, bool shown) {
    if (shown)
        m_hidden.remove(static_cast<int>(severity));
    else
        m_hidden.insert(static_cast<int>(severity));
    invalidateFilter();
}

bool DiagnosticsFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
    return !m_hidden.contains(
        sourceModel()->index(row, 0, parent).data(DiagnosticsModel::SeverityRole).toInt());
}

}  // namespace shardwright
