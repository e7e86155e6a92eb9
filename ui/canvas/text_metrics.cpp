// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/text_metrics.h"

#include <QFontDatabase>
#include <QFontMetricsF>

namespace shardwright {

namespace {

QFont canvasFont(int pixels, QFont::Weight weight) {
    QFont font = QFontDatabase::systemFont(QFontDatabase::GeneralFont);
    font.setPixelSize(pixels);
    font.setWeight(weight);
    // Glyphs scale with the zoom; hinting would make their widths jump.
    font.setHintingPreference(QFont::PreferNoHinting);
    return font;
}

std::size_t characters(std::string_view utf8) {
    std::size_t count = 0;
    for (const char c : utf8)
        count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return count;
}

double tableWidth(const std::array<float, 128>& table, std::string_view utf8) {
    double width = 0;
    for (const char c : utf8) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 128)
            width += table[byte];
        else if ((byte & 0xC0) != 0x80)
            width += table['W'];  // Wider than most; such a text is elided a little late at worst.
    }
    return width;
}

bool isInvisible(const QChar c) {
    switch (c.category()) {
        case QChar::Other_Control:
        case QChar::Other_Format:
        case QChar::Separator_Line:
        case QChar::Separator_Paragraph: return true;
        default: return false;
    }
}

}  // namespace

double FixedTextMetrics::titleWidth(std::string_view text) const {
    return 7.5 * static_cast<double>(characters(text));
}

double FixedTextMetrics::smallWidth(std::string_view text) const {
    return 6.0 * static_cast<double>(characters(text));
}

FontTextMetrics::FontTextMetrics() {
    const QFontMetricsF title(titleFont());
    const QFontMetricsF small(smallFont());
    for (int c = 32; c < 127; ++c) {
        m_title[static_cast<std::size_t>(c)] =
            static_cast<float>(title.horizontalAdvance(QChar(c)));
        m_small[static_cast<std::size_t>(c)] =
            static_cast<float>(small.horizontalAdvance(QChar(c)));
    }
}

double FontTextMetrics::titleWidth(std::string_view text) const {
    return tableWidth(m_title, text);
}

double FontTextMetrics::smallWidth(std::string_view text) const {
    return tableWidth(m_small, text);
}

QFont titleFont() {
    return canvasFont(13, QFont::DemiBold);
}

QFont smallFont() {
    return canvasFont(11, QFont::Normal);
}

QString cleanText(std::string_view utf8, int limit) {
    // Four bytes a character at most; a name of a megabyte is not converted for its first line.
    const auto bytes = std::min(utf8.size(), static_cast<std::size_t>(limit) * 4 + 4);
    QString text = QString::fromUtf8(utf8.data(), static_cast<qsizetype>(bytes));
    const bool cut = bytes < utf8.size() || text.size() > limit;
    if (text.size() > limit)
        text.truncate(text.at(limit - 1).isHighSurrogate() ? limit - 1 : limit);
    for (QChar& c : text) {
        if (c.unicode() < 32)
            c = QChar(0x2400 + c.unicode());  // The sign for the control character.
        else if (isInvisible(c))
            c = QChar(0xFFFD);
    }
    return cut ? text + QChar(0x2026) : text;
}

std::string sameDigits(std::string_view text) {
    std::string out;
    bool inDigits = false;
    for (const char c : text.substr(0, 64)) {
        const bool digit = c >= '0' && c <= '9';
        if (!digit)
            out += c;
        else if (!inDigits)
            out += "00";
        inDigits = digit;
    }
    return out;
}

}  // namespace shardwright
