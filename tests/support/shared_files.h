// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace shardwright::test {

/// Large test data that is kept outside the repository: exported models, node test cases. The
/// folder is $SHARDWRIGHT_SHARED, else `shared` beside the source tree. Tests skip by name where it
/// is not there.
inline std::filesystem::path sharedFolder() {
    if (const char* folder = std::getenv("SHARDWRIGHT_SHARED"))
        return folder;
    // ctest sets this; by hand, start the test in the source folder.
    if (const char* source = std::getenv("SHARDWRIGHT_SOURCE"))
        return std::filesystem::path(source).parent_path() / "shared";
    return std::filesystem::current_path().parent_path() / "shared";
}

/// A file below the shared folder, if it is there.
inline std::optional<std::filesystem::path> sharedFile(const std::string& relative) {
    std::error_code error;
    std::filesystem::path path = sharedFolder() / relative;
    if (!std::filesystem::exists(path, error))
        return std::nullopt;
    return path;
}

/// All exported models, sorted by name; empty where the folder is not there.
inline std::vector<std::filesystem::path> sharedModels() {
    std::vector<std::filesystem::path> models;
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator(sharedFolder() / "models", error)) {
        if (entry.path().extension() == ".onnx")
            models.push_back(entry.path());
    }
    std::sort(models.begin(), models.end());
    return models;
}

/// A synthetic model that shared/models/make_models.py wrote into $SHARDWRIGHT_GENERATED, if it
/// did.
inline std::optional<std::filesystem::path> generatedModel(const std::string& name) {
    const char* folder = std::getenv("SHARDWRIGHT_GENERATED");
    if (folder == nullptr)
        return std::nullopt;
    std::error_code error;
    std::filesystem::path path = std::filesystem::path(folder) / (name + ".onnx");
    if (!std::filesystem::exists(path, error))
        return std::nullopt;
    return path;
}

}  // namespace shardwright::test

/// Skips the test function by name where a shared file is missing.
#define SKIP_WITHOUT(path, what)                                                                   \
    if (!(path))                                                                                   \
    QSKIP(qPrintable(QStringLiteral("needs %1, which is not there").arg(what)))
