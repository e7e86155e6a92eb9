// SPDX-License-Identifier: Apache-2.0
#include "ui/window/text.h"

#include "check/assign.h"

#include <QClipboard>
#include <QCoreApplication>
#include <QGuiApplication>
#include <QLocale>
#include <QStringList>
#include <QTextDocument>

#include <algorithm>

namespace shardwright {
namespace {

QString tr(const char* text, int n = -1) {
    return QCoreApplication::translate("shardwright", text, nullptr, n);
}

}  // namespace

QString toQt(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

std::string fromQt(const QString& text) {
    return text.toStdString();
}

std::filesystem::path toPath(const QString& path) {
    return std::filesystem::path(path.toStdU16String());
}

QString oneLine(const QString& text, int limit) {
    QString line = text.left(limit + 1);
    for (QChar& c : line) {
        if (c == u'\n' || c == u'\r')
            c = QChar(0x23CE);
        else if (c.category() == QChar::Other_Control)
            c = QChar(0xFFFD);
    }
    if (line.size() > limit) {
        // Half of a surrogate pair would be drawn as a box.
        line.truncate(line.at(limit - 1).isHighSurrogate() ? limit - 1 : limit);
        line += QChar(0x2026);
    }
    return line;
}

QString oneLine(std::string_view text, int limit) {
    // A character has at most four bytes: what lies beyond is not looked at.
    return oneLine(toQt(text.substr(0, static_cast<std::size_t>(limit + 1) * 4)), limit);
}

QString menuText(const QString& text) {
    return QString(text).replace(u'&', QStringLiteral("&&"));
}

QString toolTipText(const QString& text) {
    return text.isEmpty() ? text : Qt::convertFromPlainText(text);
}

void copyText(const QString& text) {
    QGuiApplication::clipboard()->setText(text);
}

QString exactByteText(std::int64_t bytes) {
    return tr("%1 bytes").arg(QLocale().toString(static_cast<qlonglong>(bytes)));
}

QString milliseconds(double ms) {
    if (ms > 0 && ms < 1)
        return tr("%1 µs").arg(QLocale().toString(ms * 1000, 'f', ms < 0.01 ? 1 : 0));
    if (ms >= 1000)
        return tr("%1 s").arg(QLocale().toString(ms / 1000, 'f', 2));
    return tr("%1 ms").arg(QLocale().toString(ms, 'f', ms < 10 ? 2 : 1));
}

QString percentText(double share) {
    const double percent = share * 100;
    return tr("%1 %").arg(percent < 1 ? QLocale().toString(percent, 'g', 1)
                                      : QLocale().toString(qRound(percent)));
}

QString deviceList(const std::vector<int>& devices) {
    QStringList parts;
    for (std::size_t i = 0; i < devices.size();) {
        std::size_t end = i;
        while (end + 1 < devices.size() && devices[end + 1] == devices[end] + 1)
            ++end;
        parts << (end == i       ? QString::number(devices[i])
                  : end == i + 1 ? QStringLiteral("%1, %2").arg(devices[i]).arg(devices[end])
                                 : QStringLiteral("%1–%2").arg(devices[i]).arg(devices[end]));
        i = end + 1;
    }
    return parts.join(QStringLiteral(", "));
}

QString splitText(std::int64_t size, std::int64_t shards) {
    const QString arrow = QStringLiteral("%1 → %2");
    if (shards <= 1)
        return QString::number(size);
    const auto sizes = blockSizes(size, std::min<std::int64_t>(shards, 4096));
    const bool even = std::ranges::all_of(sizes, [&](auto s) { return s == sizes.front(); });
    if (even && shards > 4)
        return arrow.arg(size).arg(QStringLiteral("%1 × %2").arg(shards).arg(sizes.front()));
    QStringList parts;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes.size() > 6 && i == 3) {
            parts << QStringLiteral("…");
            i = sizes.size() - 1;
        }
        parts << QString::number(sizes[i]);
    }
    return arrow.arg(size).arg(parts.join(QStringLiteral(" + ")));
}

QString severityText(Severity severity, int count) {
    switch (severity) {
        case Severity::Error: return count == 1 ? tr("Error") : tr("Errors");
        case Severity::Warning: return count == 1 ? tr("Warning") : tr("Warnings");
        case Severity::Unsupported: return tr("Unsupported");
        case Severity::Communication: return tr("Communication");
        case Severity::Info: return count == 1 ? tr("Note") : tr("Notes");
    }
    return {};
}

}  // namespace shardwright
