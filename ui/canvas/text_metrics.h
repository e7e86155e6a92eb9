// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>
#include <QString>

#include <array>
#include <memory>
#include <string_view>

namespace shardwright {

/// How wide texts are, so that layouts can be made and tested without a display.
class TextMetrics {
public:
    virtual ~TextMetrics() = default;
    /// Width in scene units of `text` in the title font (operator) or the small font (names).
    virtual double titleWidth(std::string_view text) const = 0;
    virtual double smallWidth(std::string_view text) const = 0;
};

/// Every character is equally wide.
class FixedTextMetrics : public TextMetrics {
public:
    double titleWidth(std::string_view text) const override;
    double smallWidth(std::string_view text) const override;
};

/// Measures once, on the GUI thread; reads from any thread.
class FontTextMetrics : public TextMetrics {
public:
    FontTextMetrics();
    double titleWidth(std::string_view text) const override;
    double smallWidth(std::string_view text) const override;

private:
    std::array<float, 128> m_title{}, m_small{};
};

/// Fonts of the drawing at scale 1.
QFont titleFont();
QFont smallFont();

/// A name as the drawing shows it: control and direction characters as visible signs, cut at
/// `limit` characters.
QString cleanText(std::string_view utf8, int limit = 160);
/// For widths: every run of digits counts alike, so that repeated layers are laid out alike.
std::string sameDigits(std::string_view text);

}  // namespace shardwright
