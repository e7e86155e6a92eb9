// SPDX-License-Identifier: Apache-2.0
#include "support/fuzz_run.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>

#include <algorithm>

namespace shardwright::test {

namespace {

QString textOf(const std::filesystem::path& path) {
    return QString::fromStdString(path.string());
}

/// Standard output; stops the test's process of that name where it hangs.
QByteArray outputOf(const QString& program, const QStringList& arguments) {
    QProcess process;
    process.start(program, arguments);
    if (!process.waitForFinished(240000)) {
        process.kill();
        process.waitForFinished();
    }
    return process.readAllStandardOutput();
}

}  // namespace

QString whyNoFuzzers() {
    return qEnvironmentVariable("SHARDWRIGHT_FUZZERS").isEmpty()
               ? "fuzzing: " + qEnvironmentVariable("SHARDWRIGHT_FUZZERS_MISSING",
                                                    "started without ctest, which names the build")
               : QString();
}

FuzzRun::FuzzRun(std::string name)
    : m_name(std::move(name)), m_folder(qEnvironmentVariable("SHARDWRIGHT_FUZZERS").toStdString()) {
}

QString FuzzRun::run(int share, int runs, const QStringList& options) {
    bool given = false;
    const int total = qEnvironmentVariableIntValue("SHARDWRIGHT_FUZZ_SECONDS", &given);
    const int seconds = std::max(1, (given ? total : 60) * share / 100);
    const auto corpus = m_folder / "corpus" / m_name, findings = m_folder / "findings";
    std::filesystem::remove_all(corpus);
    std::filesystem::create_directories(corpus);
    std::filesystem::create_directories(findings);
    QStringList arguments{"-max_total_time=" + QString::number(seconds),
                          "-seed=1",
                          "-timeout=10",
                          "-rss_limit_mb=1024",
                          "-entropic=0",  // It takes as long as the programs themselves.
                          "-artifact_prefix=" + textOf(findings / m_name) + "-"};
    if (std::filesystem::exists(dictionary()))
        arguments << "-dict=" + textOf(dictionary());
    if (!given)
        arguments << "-runs=" + QString::number(runs);
    arguments << options << textOf(corpus) << textOf(seeds());

    QProcess process;
    process.setProcessChannelMode(QProcess::MergedChannels);
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("LLVM_PROFILE_FILE", textOf(m_folder / (m_name + ".profraw")));
    environment.insert("ASAN_OPTIONS", "malloc_context_size=8");
    process.setProcessEnvironment(environment);
    process.start(textOf(m_folder / "bin" / ("fuzz_" + m_name)), arguments);
    const bool ended = process.waitForFinished((seconds + 180) * 1000);
    if (!ended) {
        process.kill();
        process.waitForFinished();
    }
    const QString log = QString::fromUtf8(process.readAll());
    if (ended && process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0) {
        const QRegularExpression done("^Done \\d+ runs in .*$",
                                      QRegularExpression::MultilineOption);
        qInfo("%s", qPrintable(QString::fromStdString(m_name) + ": " + done.match(log).captured()));
        return {};
    }
    return (ended ? QString() : QString("does not end\n")) + log.right(8000);
}

std::map<std::string, FuzzRun::Lines> FuzzRun::coverage(const QStringList& files) {
    const QString merged = textOf(m_folder / (m_name + ".profdata"));
    outputOf(qEnvironmentVariable("SHARDWRIGHT_LLVM_PROFDATA"),
             {"merge", "-sparse", textOf(m_folder / (m_name + ".profraw")), "-o", merged});
    const QByteArray json = outputOf(qEnvironmentVariable("SHARDWRIGHT_LLVM_COV"),
                                     {"export", "-summary-only", "-instr-profile=" + merged,
                                      textOf(m_folder / "bin" / ("fuzz_" + m_name))});
    std::map<std::string, Lines> lines;
    const auto data = QJsonDocument::fromJson(json)["data"].toArray();
    for (const auto& value :
         data.isEmpty() ? QJsonArray() : data[0].toObject()["files"].toArray()) {
        const QJsonObject entry = value.toObject();
        const QString path = entry["filename"].toString().section("/core/", -1);
        if (std::none_of(files.begin(), files.end(),
                         [&](const QString& word) { return path.contains(word); }))
            continue;
        const auto summary = entry["summary"].toObject()["lines"].toObject();
        const Lines found{summary["covered"].toInt(), summary["count"].toInt()};
        lines[path.toStdString()] = found;
        qInfo("%5d of %5d lines  %s", found.covered, found.all, qPrintable(path));
    }
    qInfo("%.1f %% of the lines of these %d files", percent(lines), int(lines.size()));
    return lines;
}

double percent(const std::map<std::string, FuzzRun::Lines>& coverage) {
    double covered = 0, all = 0;
    for (const auto& [path, lines] : coverage) {
        covered += lines.covered;
        all += lines.all;
    }
    return all == 0 ? 0 : 100 * covered / all;
}

}  // namespace shardwright::test
