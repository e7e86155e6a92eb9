// SPDX-License-Identifier: Apache-2.0
#include "run/plugins.h"

#include <dlfcn.h>

#include <cstdlib>

namespace shardwright {

Result<std::filesystem::path> findPlugin(const std::string& name) {
    namespace fs = std::filesystem;
    std::error_code error;
    fs::path folder;
    if (const char* own = std::getenv("SHARDWRIGHT_PLUGINS"); own && *own)
        folder = own;
    else
        folder = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() /
                 "lib/shardwright";
    const fs::path library = folder / ("libshardwright-" + name + ".so");
    if (error || !fs::exists(library, error))
        return Error{library.filename().string() + " is not there", folder.string()};
    return library;
}

Result<void*> loadPlugin(const std::filesystem::path& library, const char* symbol) {
    // Global, because Open MPI loads components that look for its symbols; never unloaded, because
    // such libraries leave threads and handlers behind.
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (!handle)
        return Error{std::string("cannot be loaded: ") + dlerror(), library.string()};
    void* function = dlsym(handle, symbol);
    if (!function)
        return Error{std::string("it has no function ") + symbol, library.string()};
    return function;
}

}  // namespace shardwright
