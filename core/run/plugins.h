// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"

#include <filesystem>
#include <string>

namespace shardwright {

/// Where the plug-in library `name` ("mpi", "cuda") is: libshardwright-NAME.so in the folder
/// $SHARDWRIGHT_PLUGINS, else in `../lib/shardwright` beside the program. Programs load plug-ins
/// only when a run asks for them, so they start without the libraries that those need. Error: where
/// it was looked for.
Result<std::filesystem::path> findPlugin(const std::string& name);

/// Loads a library for good and gives its function `symbol`. Errors: it cannot be loaded (the
/// loader's words), it has no such function.
Result<void*> loadPlugin(const std::filesystem::path& library, const char* symbol);

}  // namespace shardwright
