// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/report.h"

#include <filesystem>
#include <string>

namespace shardwright {

/// What a SARIF log says beside the diagnostics.
struct SarifFacts {
    std::filesystem::path model;  ///< As it was named: absolute, or relative to where one is.
    std::string version;          ///< Of the program.
    /// Where docs/ lies; empty: rules have no helpUri. Their pages are in the log all the same.
    std::filesystem::path documentation;
};

/// The diagnostics as SARIF 2.1.0. Names are as in the model; JSON is UTF-8, so that writing it
/// replaces other bytes.
Json checkSarif(const Analysis& analysis, const SarifFacts& facts);
/// Beside the running program: ../share/doc/shardwright; empty where it is not.
std::filesystem::path documentationFolder();

}  // namespace shardwright
