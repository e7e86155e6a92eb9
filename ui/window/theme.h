// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QIcon>
#include <QPalette>
#include <QString>

namespace shardwright {

enum class ThemeChoice { System, Light, Dark };

QString
themeName(ThemeChoice choice);  ///< "system", "light", "dark": for settings and the command line.
ThemeChoice themeFromName(const QString& name, bool* ok = nullptr);

QPalette lightPalette();
QPalette darkPalette();
bool isDark(const QPalette& palette);

/// Fusion with our palette for the whole program. System follows what the desktop said at the
/// start.
void applyTheme(ThemeChoice choice);
/// The choice of the last applyTheme().
ThemeChoice appliedTheme();

/// A line icon of resources/icons in the text colour of the present palette, with a disabled
/// variant.
QIcon themedIcon(const QString& name);

}  // namespace shardwright
