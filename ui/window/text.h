// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sharding/diagnostic.h"
#include "ui/canvas/byte_text.h"

#include <QString>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

// Between core's UTF-8 and Qt, and numbers as people write them: in this one place.

QString toQt(std::string_view text);
std::string fromQt(const QString& text);
std::filesystem::path toPath(const QString& path);

/// One line: line breaks and other control characters become visible marks, at most `limit`
/// characters.
QString oneLine(std::string_view text, int limit = 200);
QString oneLine(const QString& text, int limit = 200);
/// "&" doubled, so that a menu does not take it for a shortcut.
QString menuText(const QString& text);
void copyText(const QString& text);
/// For a tool tip, which would take some texts for HTML.
QString toolTipText(const QString& text);
/// "32,768 bytes"; byteText() is the short form.
QString exactByteText(std::int64_t bytes);
QString milliseconds(double ms);
/// "85 %"; small ones with the digit that counts: "0.06 %".
QString percentText(double share);
/// "0-3, 5"
QString deviceList(const std::vector<int>& devices);
/// "64 -> 32 + 32", "10 -> 3 + 3 + 3 + 1", "256 -> 8 x 32".
QString splitText(std::int64_t size, std::int64_t shards);
QString severityText(Severity severity, int count = 1);

}  // namespace shardwright
