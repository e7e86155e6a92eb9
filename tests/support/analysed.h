// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "check/report.h"

#include <QtGlobal>

#include <memory>
#include <string>

namespace shardwright::test {

/// A full analysis; the test ends where there is none.
inline std::shared_ptr<const Analysis> analysed(const Document& document,
                                                Profile profile = Profile::Extended) {
    AnalysisOptions options;
    options.profile = profile;
    Analyser analyser;
    const auto analysis = analyser.run(document, options);
    if (!analysis)
        qFatal("%s", analysis.error().text().c_str());
    return *analysis;
}

/// A line for each error; empty when there is none.
inline std::string errorsOf(const Analysis& analysis) {
    std::string text;
    for (const Diagnostic& diagnostic : analysis.diagnostics)
        if (diagnostic.severity == Severity::Error)
            text += diagnosticText(analysis.graph(), diagnostic) + "\n";
    return text;
}

}  // namespace shardwright::test
