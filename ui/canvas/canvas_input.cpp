// SPDX-License-Identifier: Apache-2.0
//
// Mouse, keys and gestures of the canvas.

#include "ui/canvas/box_text.h"
#include "ui/canvas/graph_canvas.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QGestureEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QNativeGestureEvent>
#include <QPinchGesture>
#include <QScrollBar>
#include <QToolTip>
#include <QVariantAnimation>
#include <QWheelEvent>

#include <cmath>

namespace shardwright {

bool GraphCanvas::event(QEvent* event) {
    // Keys that a window would take for its own shortcuts belong to the canvas while it has the
    // focus.
    if (event->type() == QEvent::ShortcutOverride) {
        const auto* key = static_cast<QKeyEvent*>(event);
        const bool plain =
            (key->modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier)) == Qt::NoModifier;
        switch (key->key()) {
            case Qt::Key_Up:
            case Qt::Key_Down:
            case Qt::Key_Left:
            case Qt::Key_Right:
            case Qt::Key_Backspace:
            case Qt::Key_Home:
            case Qt::Key_Return:
            case Qt::Key_Enter:
                if (plain)
                    event->accept();
                break;
            default: break;
        }
    }
    return QAbstractScrollArea::event(event);
}

bool GraphCanvas::viewportEvent(QEvent* event) {
    switch (event->type()) {
        case QEvent::ToolTip: {
            const auto* help = static_cast<QHelpEvent*>(event);
            QToolTip::showText(help->globalPos(), toolTipAt(toScene(help->pos())), viewport());
            return true;
        }
        case QEvent::Gesture:
            if (auto* pinch = static_cast<QPinchGesture*>(
                    static_cast<QGestureEvent*>(event)->gesture(Qt::PinchGesture))) {
                zoomAround(viewport()->mapFromGlobal(pinch->hotSpot()), pinch->scaleFactor());
                return true;
            }
            break;
        case QEvent::NativeGesture: {
            const auto* gesture = static_cast<QNativeGestureEvent*>(event);
            if (gesture->gestureType() == Qt::ZoomNativeGesture) {
                zoomAround(gesture->position(), 1 + gesture->value());
                return true;
            }
            break;
        }
        default: break;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void GraphCanvas::wheelEvent(QWheelEvent* event) {
    const QPoint angle = event->angleDelta();
    if (event->modifiers().testFlag(Qt::ControlModifier)) {
        zoomAround(event->position(), std::pow(1.0015, angle.y() != 0 ? angle.y() : angle.x()));
        event->accept();
        return;
    }
    QPointF way =
        event->pixelDelta().isNull() ? QPointF(angle) * 0.6 : QPointF(event->pixelDelta());
    if (event->modifiers().testFlag(Qt::ShiftModifier) && way.x() == 0)
        way = {way.y(), 0};
    m_glide->stop();
    m_initialView = false;
    setView(m_origin - way / m_zoom, m_zoom);
    event->accept();
}

bool GraphCanvas::onFrameTitle(const PlacedBox& box, QPointF scenePoint) const {
    // While titles are too small to read they are drawn larger than they are.
    const double height = std::max<double>(kFrameTitleHeight, 18 / m_zoom);
    return box.open && scenePoint.y() < box.rect.top() + height;
}

void GraphCanvas::mousePressEvent(QMouseEvent* event) {
    m_glide->stop();
    m_pressPoint = m_lastPoint = event->pos();
    m_moved = false;
    m_drag = Drag::None;
    if (event->button() == Qt::MiddleButton) {
        m_drag = Drag::Pan;
        viewport()->setCursor(Qt::ClosedHandCursor);
        return;
    }
    if (event->button() != Qt::LeftButton || !m_placed)
        return;
    if (event->modifiers().testFlag(Qt::ShiftModifier)) {
        m_drag = Drag::RubberBand;
        return;
    }
    const QPointF point = toScene(event->position());
    const int box = m_placed->boxAt(point);
    const PlacedBox* hit = box < 0 ? nullptr : &m_placed->boxes()[static_cast<std::size_t>(box)];
    if (!hit || (hit->open && !onFrameTitle(*hit, point)))
        m_drag = Drag::Pan;
}

void GraphCanvas::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons() == Qt::NoButton) {
        // A line under the mouse can be selected: say so.
        const bool onBox = m_placed && m_placed->boxAt(toScene(event->position())) >= 0;
        viewport()->setCursor(onBox ? Qt::ArrowCursor : Qt::OpenHandCursor);
        return;
    }
    if (!m_moved &&
        (event->pos() - m_pressPoint).manhattanLength() < QApplication::startDragDistance())
        return;
    m_moved = true;
    const QPoint way = event->pos() - m_lastPoint;
    m_lastPoint = event->pos();
    if (m_drag == Drag::Pan) {
        viewport()->setCursor(Qt::ClosedHandCursor);
        m_initialView = false;
        setView(m_origin - QPointF(way) / m_zoom, m_zoom);
    } else if (m_drag == Drag::RubberBand) {
        viewport()->update();
    }
}

void GraphCanvas::mouseReleaseEvent(QMouseEvent* event) {
    const Drag drag = m_drag;
    m_drag = Drag::None;
    viewport()->setCursor(Qt::ArrowCursor);
    if (event->button() == Qt::LeftButton && drag == Drag::RubberBand && m_moved) {
        const QRectF band(toScene(m_pressPoint), toScene(event->position()));
        selectInRect(band.normalized(), event->modifiers().testFlag(Qt::ControlModifier));
    } else if (event->button() == Qt::LeftButton && !m_moved) {
        clickAt(event->position(), event->modifiers());
    }
    viewport()->update();
}

void GraphCanvas::clickAt(QPointF viewportPoint, Qt::KeyboardModifiers modifiers) {
    if (!m_placed)
        return;
    const QPointF point = toScene(viewportPoint);
    const int index = m_placed->boxAt(point);
    const PlacedBox* box =
        index < 0 ? nullptr : &m_placed->boxes()[static_cast<std::size_t>(index)];
    if (box && box->open && !onFrameTitle(*box, point))
        box = nullptr;
    if (!box) {
        const int edge = m_placed->edgeAt(point, 5 / m_zoom);
        changeSelection(
            edge < 0 ? Selection()
                     : Selection{{}, {}, m_placed->edges()[static_cast<std::size_t>(edge)].value});
        return;
    }
    if (box->kind == BoxKind::Scope && point.x() < box->rect.left() + 28 &&
        point.y() < box->rect.top() + 34) {
        toggleScope(box->scope);
        return;
    }
    if (box->kind == BoxKind::Node &&
        (modifiers & (Qt::ControlModifier | Qt::ShiftModifier)) != Qt::NoModifier) {
        QList<NodeId> nodes = m_selected;
        if (!nodes.removeOne(box->node))
            nodes.append(box->node);
        changeSelection({nodes, {}, {}});
        return;
    }
    selectBox(index);
}

void GraphCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !m_placed)
        return;
    m_moved = true;  // The release that follows is not another click.
    const QPointF point = toScene(event->position());
    const int index = m_placed->boxAt(point);
    if (index < 0)
        return;
    const PlacedBox& box = m_placed->boxes()[static_cast<std::size_t>(index)];
    if (box.kind == BoxKind::Scope && (!box.open || onFrameTitle(box, point)))
        toggleScope(box.scope);
    else if (box.kind == BoxKind::Node)
        emit nodeActivated(box.node);
}

void GraphCanvas::contextMenuEvent(QContextMenuEvent* event) {
    if (event->reason() == QContextMenuEvent::Mouse && m_placed) {
        const int index = m_placed->boxAt(toScene(event->pos()));
        const bool known =
            index >= 0 &&
            m_selected.contains(m_placed->boxes()[static_cast<std::size_t>(index)].node);
        if (!known)
            clickAt(event->pos(), Qt::NoModifier);
    }
    emit contextMenuWanted(event->globalPos());
}

bool GraphCanvas::zoomKey(QKeyEvent* event) {
    const bool shift = event->modifiers().testFlag(Qt::ShiftModifier);
    switch (event->key()) {
        case Qt::Key_Up:
            if (shift)
                zoomIn();
            return shift;
        case Qt::Key_Down:
            if (shift)
                zoomOut();
            return shift;
        case Qt::Key_Plus:
        case Qt::Key_Equal: zoomIn(); return true;
        case Qt::Key_Minus: zoomOut(); return true;
        case Qt::Key_0: actualSize(); return true;
        case Qt::Key_F: fitAll(); return true;
        case Qt::Key_Home:
            m_initialView = false;
            goToInputs();
            return true;
        default: return false;
    }
}

void GraphCanvas::keyPressEvent(QKeyEvent* event) {
    const bool otherShortcut = event->modifiers() & (Qt::AltModifier | Qt::MetaModifier) ||
                               (event->modifiers() & Qt::ControlModifier &&
                                event->key() != Qt::Key_0 && event->key() != Qt::Key_A);
    if (otherShortcut) {
        event->ignore();
        return;
    }
    if (zoomKey(event))
        return;
    switch (event->key()) {
        case Qt::Key_A:
            if (!event->modifiers().testFlag(Qt::ControlModifier))
                break;
            selectAll();
            return;
        case Qt::Key_Up:
        case Qt::Key_Down:
        case Qt::Key_Left:
        case Qt::Key_Right: walk(event->key()); return;
        case Qt::Key_Return:
        case Qt::Key_Enter: activateCurrent(); return;
        case Qt::Key_Escape: clearSelection(); return;
        case Qt::Key_Backspace: selectPrevious(); return;
        default: break;
    }
    event->ignore();
}

bool GraphCanvas::walk(int key) {
    if (!m_placed || m_placed->boxes().empty())
        return false;
    int box = currentBox();
    if (box < 0) {
        box = m_placed->boxAt(m_placed->startRect().center());
    } else {
        const Walk direction = key == Qt::Key_Up     ? Walk::Producer
                               : key == Qt::Key_Down ? Walk::Consumer
                               : key == Qt::Key_Left ? Walk::Left
                                                     : Walk::Right;
        box = m_placed->neighbour(box, direction);
    }
    if (box < 0)
        return false;
    selectBox(box);
    ensureVisible(m_placed->boxes()[static_cast<std::size_t>(box)].rect);
    return true;
}

void GraphCanvas::activateCurrent() {
    if (m_selectedScope)
        toggleScope(m_selectedScope);
    else if (currentNode())
        emit nodeActivated(currentNode());
}

}  // namespace shardwright
