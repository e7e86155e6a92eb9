// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/canvas_theme.h"

#include <array>
#include <cmath>

namespace shardwright {

namespace {

double linear(double channel) {
    return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& c) {
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
}

QColor blend(const QColor& a, const QColor& b, double share) {
    const auto part = [&](double x, double y) { return static_cast<float>(x + (y - x) * share); };
    return QColor::fromRgbF(part(a.redF(), b.redF()), part(a.greenF(), b.greenF()),
                            part(a.blueF(), b.blueF()));
}

/// `colour` moved towards black or white until it is readable on `behind`.
QColor readable(QColor colour, const QColor& behind, double least = 4.6) {
    const QColor end = luminance(behind) > 0.18 ? Qt::black : Qt::white;
    for (int step = 0; step < 20 && contrast(colour, behind) < least; ++step)
        colour = blend(colour, end, 0.12);
    return colour;
}

// Okabe and Ito's colours, told apart with every common kind of colour blindness; the black one
// gives way to grey.
constexpr std::array<QRgb, 8> kSafe{0xff0072b2, 0xffe69f00, 0xff009e73, 0xffcc79a7,
                                    0xff56b4e9, 0xffd55e00, 0xfff0e442, 0xff8a8a8a};

}  // namespace

double contrast(const QColor& a, const QColor& b) {
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

QColor readableOn(const QColor& background) {
    return contrast(Qt::white, background) >= contrast(Qt::black, background) ? QColor(Qt::white)
                                                                              : QColor(Qt::black);
}

CanvasTheme CanvasTheme::fromPalette(const QPalette& palette) {
    CanvasTheme t;
    const QColor base = palette.color(QPalette::Active, QPalette::Base);
    const QColor text = palette.color(QPalette::Active, QPalette::Text);
    t.dark = luminance(base) < luminance(text);
    t.background = t.dark ? blend(base, Qt::black, 0.12) : blend(base, text, 0.025);
    t.grid = blend(t.background, text, 0.06);
    t.box = t.dark ? blend(base, Qt::white, 0.07) : base;
    t.text = readable(text, t.box, 7);
    t.mutedText = readable(blend(text, t.box, 0.38), t.box);
    t.boxBorder = blend(t.box, text, t.dark ? 0.30 : 0.26);
    t.scopeBox = blend(t.box, text, t.dark ? 0.09 : 0.055);
    t.scopeTitle = blend(t.background, text, t.dark ? 0.15 : 0.085);
    t.mutedText = readable(t.mutedText, t.scopeTitle);  // The hardest ground that it stands on.
    t.scopeFrame = blend(t.background, text, t.dark ? 0.28 : 0.22);
    t.scopeFill[0] = blend(t.background, text, t.dark ? 0.035 : 0.022);
    t.scopeFill[1] = blend(t.background, text, t.dark ? 0.075 : 0.05);
    t.input = t.dark ? QColor(0x2f, 0x4f, 0x46) : QColor(0xd9, 0xee, 0xe4);
    t.output = t.dark ? QColor(0x55, 0x43, 0x2c) : QColor(0xf6, 0xe6, 0xcd);
    t.edge = blend(t.background, text, t.dark ? 0.52 : 0.48);
    t.portal = blend(t.background, text, t.dark ? 0.13 : 0.09);
    t.portalText = readable(blend(text, t.portal, 0.25), t.portal);
    t.accent = t.dark ? QColor(0x6c, 0xb2, 0xff) : QColor(0x0b, 0x63, 0xce);
    t.highlight = t.dark ? QColor(0xff, 0xc8, 0x3d) : QColor(0xd9, 0x7f, 0x00);
    t.error = t.dark ? QColor(0xff, 0x7b, 0x72) : QColor(0xc6, 0x28, 0x28);
    t.warning = t.dark ? QColor(0xf2, 0xb1, 0x34) : QColor(0xa8, 0x5d, 0x00);
    t.information = t.dark ? QColor(0x7a, 0xb8, 0xf5) : QColor(0x1c, 0x6d, 0xb5);
    t.communication = t.dark ? QColor(0xc9, 0x9b, 0xf5) : QColor(0x7b, 0x2f, 0xb5);
    t.badgeText = readableOn(t.error);
    return t;
}

QColor CanvasTheme::family(OpFamily family) const {
    const auto pick = [&](QRgb light, QRgb darkColour) {
        return QColor::fromRgb(dark ? darkColour : light);
    };
    switch (family) {
        case OpFamily::MatrixProduct: return pick(0xffc9dcf5, 0xff2b4a73);
        case OpFamily::Elementwise: return pick(0xffe3e6ea, 0xff434950);
        case OpFamily::Activation: return pick(0xfff6d3cf, 0xff6b3833);
        case OpFamily::Normalisation: return pick(0xffd3ead2, 0xff32563a);
        case OpFamily::Reduction: return pick(0xffe2d6f3, 0xff4c3b6d);
        case OpFamily::Movement: return pick(0xfff4e7c3, 0xff5c4d22);
        case OpFamily::Constant: return pick(0xffeceef0, 0xff3a3f45);
        case OpFamily::Control: return pick(0xffcdebea, 0xff235556);
        case OpFamily::Quantisation: return pick(0xfff3d5e6, 0xff653552);
        case OpFamily::Function: return pick(0xffd5dcf0, 0xff3a4673);
        case OpFamily::Other: break;
    }
    return pick(0xffe3e6ea, 0xff434950);
}

QColor CanvasTheme::familyText(OpFamily which) const {
    return readable(text, family(which), 7);
}

QColor CanvasTheme::axis(int axis) const {
    const auto index = static_cast<std::size_t>(std::max(axis, 0));
    const QColor colour = QColor::fromRgb(kSafe[index % kSafe.size()]);
    const int round = static_cast<int>(index / kSafe.size());
    if (round == 0)
        return dark ? blend(colour, Qt::white, 0.22) : colour;
    return round % 2 == 1 ? colour.darker(150) : colour.lighter(140);
}

QColor CanvasTheme::stage(int stage) const {
    // A step of the golden angle keeps neighbouring stages apart, however many there are.
    const int hue = (205 + static_cast<int>(std::lround(stage * 137.508))) % 360;
    return QColor::fromHsl(hue, dark ? 110 : 120, dark ? 170 : 85);
}

}  // namespace shardwright
