// SPDX-License-Identifier: Apache-2.0
#include "ui/window/theme.h"

#include <QApplication>
#include <QFile>
#include <QIconEngine>
#include <QPainter>
#include <QPixmapCache>
#include <QStyle>
#include <QStyleFactory>
#include <QSvgRenderer>

// The resources lie in a static library, from which the linker takes only what is named.
static void initialiseResources() {
    Q_INIT_RESOURCE(shardwright);
}

namespace shardwright {
namespace {

struct Colours {
    const char *window, *base, *alternate, *text, *muted, *button, *accent, *onAccent, *link, *mid,
        *dark, *light, *selected;
};

constexpr Colours kLight{"#f4f5f7", "#ffffff", "#f8f9fb", "#1c2128", "#6a737d",
                         "#ffffff", "#2b64c9", "#ffffff", "#1f5bb8", "#d5d9e0",
                         "#aab1bb", "#ffffff", "#d9e6fb"};
constexpr Colours kDark{"#1f2227", "#26292f", "#2b2f36", "#e3e6ea", "#969ea9", "#30343c", "#4f8df0",
                        "#0d1117", "#7fb0ff", "#3d424b", "#16181c", "#3a3f48", "#2c4468"};

QPalette paletteOf(const Colours& c) {
    QPalette p;
    p.setColor(QPalette::Window, QColor(c.window));
    p.setColor(QPalette::WindowText, QColor(c.text));
    p.setColor(QPalette::Base, QColor(c.base));
    p.setColor(QPalette::AlternateBase, QColor(c.alternate));
    p.setColor(QPalette::Text, QColor(c.text));
    p.setColor(QPalette::PlaceholderText, QColor(c.muted));
    p.setColor(QPalette::Button, QColor(c.button));
    p.setColor(QPalette::ButtonText, QColor(c.text));
    p.setColor(QPalette::BrightText, QColor("#ff5c5c"));
    p.setColor(QPalette::ToolTipBase, QColor(c.base));
    p.setColor(QPalette::ToolTipText, QColor(c.text));
    p.setColor(QPalette::Highlight, QColor(c.accent));
    p.setColor(QPalette::HighlightedText, QColor(c.onAccent));
    p.setColor(QPalette::Link, QColor(c.link));
    p.setColor(QPalette::LinkVisited, QColor(c.link));
    p.setColor(QPalette::Mid, QColor(c.mid));
    p.setColor(QPalette::Midlight, QColor(c.mid));
    p.setColor(QPalette::Dark, QColor(c.dark));
    p.setColor(QPalette::Light, QColor(c.light));
    p.setColor(QPalette::Shadow, QColor(c.dark));
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        p.setColor(QPalette::Disabled, role, QColor(c.muted));
    p.setColor(QPalette::Disabled, QPalette::Highlight, QColor(c.mid));
    return p;
}

/// Little beyond Fusion: flat docks and tabs, room around text, a focus frame that can be seen.
QString styleSheet(const Colours& c) {
    return QStringLiteral(R"(
QToolTip { color: %3; background: %2; border: 1px solid %4; padding: 3px 5px; }
QMainWindow::separator { background: %4; width: 1px; height: 1px; }
QMainWindow::separator:hover { background: %5; }
QDockWidget { titlebar-close-icon: none; }
QDockWidget::title { background: %1; padding: 6px 10px; text-align: left; border: none; }
QToolBar { background: %1; border: none; border-bottom: 1px solid %4; padding: 3px 6px; spacing: 3px; }
QToolBar QToolButton { border: 1px solid transparent; border-radius: 4px; padding: 4px; }
QToolBar QToolButton:hover { background: %6; border-color: %4; }
QToolBar QToolButton:focus { border-color: %5; }
QToolBar QToolButton:pressed, QToolBar QToolButton:checked { background: %4; }
QMenuBar { background: %1; border: none; }
QStatusBar { background: %1; border-top: 1px solid %4; }
QStatusBar::item { border: none; }
QTabBar::tab { background: transparent; padding: 5px 12px; border: none; border-bottom: 2px solid transparent; color: %7; }
QTabBar::tab:selected { color: %3; border-bottom-color: %5; }
QTabBar::tab:hover { color: %3; }
QTabBar::tab:focus { color: %5; }
QAbstractItemView { selection-background-color: %8; selection-color: %3; }
QTreeView, QTableView, QListView { border: 1px solid %4; border-radius: 4px; background: %2; outline: none; }
QTreeView:focus, QTableView:focus, QListView:focus { border-color: %5; }
QTreeView::item, QListView::item { padding: 3px 2px; }
QHeaderView::section { background: %1; color: %7; border: none; border-bottom: 1px solid %4; padding: 4px 6px; }
QScrollArea { border: none; background: transparent; }
QToolButton::menu-indicator { subcontrol-origin: padding; subcontrol-position: center right; right: 4px; width: 9px; height: 9px; }
QToolButton[popupMode="2"] { border: 1px solid %4; border-radius: 4px; background: %6; padding: 3px 18px 3px 6px; }
QToolButton[popupMode="2"]:hover { border-color: %7; }
QToolButton[popupMode="2"]:focus { border-color: %5; }
QToolButton[popupMode="2"]:disabled { color: %7; }
QToolBar QToolButton[popupMode="2"] { border-color: transparent; background: transparent; padding: 4px 18px 4px 6px; }
QToolBar QToolButton[popupMode="2"]:hover { background: %6; border-color: %4; }
QToolBar QToolButton[popupMode="2"]:focus { border-color: %5; }
QToolButton[role="filter"] { border: 1px solid %4; border-radius: 9px; padding: 2px 9px; color: %7; background: transparent; }
QToolButton[role="filter"]:checked { background: %8; color: %3; }
QToolButton[role="filter"]:focus { border-color: %5; }
QLabel[role="heading"] { font-weight: 600; color: %7; padding-top: 8px; }
QLabel[role="muted"] { color: %7; }
QLabel[role="title"] { font-weight: 600; font-size: 125%; }
)")
        .arg(QLatin1String(c.window), QLatin1String(c.base), QLatin1String(c.text),
             QLatin1String(c.mid), QLatin1String(c.accent), QLatin1String(c.button),
             QLatin1String(c.muted), QLatin1String(c.selected));
}

/// Draws an SVG whose lines are `currentColor`, in the colour of the palette at the time of
/// painting, so that icons follow a change of theme by themselves.
class LineIconEngine : public QIconEngine {
public:
    explicit LineIconEngine(const QString& name) : m_name(name) {}
    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
        QColor colour = QApplication::palette().color(
            mode == QIcon::Disabled ? QPalette::Disabled : QPalette::Active, QPalette::ButtonText);
        if (mode == QIcon::Disabled)
            colour.setAlphaF(0.55F);
        QFile file(QStringLiteral(":/icons/%1.svg").arg(m_name));
        if (!file.open(QIODevice::ReadOnly))
            return;
        QByteArray svg = file.readAll();
        svg.replace("currentColor", colour.name().toLatin1());
        QSvgRenderer renderer(svg);
        painter->save();
        painter->setOpacity(painter->opacity() * colour.alphaF());
        renderer.render(painter, rect);
        painter->restore();
    }
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        return scaledPixmap(size, mode, state, 1.0);
    }
    QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State state, qreal) override {
        QPixmap pixmap(size);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        paint(&painter, QRect(QPoint(), size), mode, state);
        return pixmap;
    }
    QIconEngine* clone() const override { return new LineIconEngine(m_name); }

private:
    QString m_name;
};

}  // namespace

QString themeName(ThemeChoice choice) {
    return choice == ThemeChoice::Light  ? QStringLiteral("light")
           : choice == ThemeChoice::Dark ? QStringLiteral("dark")
                                         : QStringLiteral("system");
}

ThemeChoice themeFromName(const QString& name, bool* ok) {
    for (const auto choice : {ThemeChoice::System, ThemeChoice::Light, ThemeChoice::Dark}) {
        if (name == themeName(choice)) {
            if (ok)
                *ok = true;
            return choice;
        }
    }
    if (ok)
        *ok = false;
    return ThemeChoice::System;
}

QPalette lightPalette() {
    return paletteOf(kLight);
}

QPalette darkPalette() {
    return paletteOf(kDark);
}

bool isDark(const QPalette& palette) {
    return palette.color(QPalette::Window).lightness() < 128;
}

ThemeChoice appliedTheme() {
    return themeFromName(qApp->property("theme").toString());
}

void applyTheme(ThemeChoice choice) {
    qApp->setProperty("theme", themeName(choice));
    // Before anything of ours changed it.
    static const bool systemIsDark = isDark(QApplication::palette());
    const bool dark =
        choice == ThemeChoice::Dark || (choice == ThemeChoice::System && systemIsDark);
    initialiseResources();
    if (QApplication::style()->name() != QLatin1String("fusion"))
        QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    QApplication::setPalette(dark ? darkPalette() : lightPalette());
    qApp->setStyleSheet(styleSheet(dark ? kDark : kLight));
}

QIcon themedIcon(const QString& name) {
    return QIcon(new LineIconEngine(name));
}

}  // namespace shardwright
