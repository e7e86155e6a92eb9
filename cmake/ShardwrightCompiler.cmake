# SPDX-License-Identifier: Apache-2.0
# How everything is compiled: language, warnings, sanitizers, ccache, linker. Targets get it by linking
# shardwright_options.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()

add_library(shardwright_options INTERFACE)
target_compile_options(shardwright_options INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${SHARDWRIGHT_WERROR}>:-Werror>)

if(SHARDWRIGHT_SANITIZE)
    set(flags "-fsanitize=${SHARDWRIGHT_SANITIZE}" -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_compile_options(shardwright_options INTERFACE ${flags})
    target_link_options(shardwright_options INTERFACE ${flags})
endif()

# ccache needs to be told about precompiled headers, and that a checkout in another folder is the same code.
find_program(SHARDWRIGHT_CCACHE ccache DOC "ccache; empty for none")
if(SHARDWRIGHT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND}" -E env
        "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime"
        "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
        "${SHARDWRIGHT_CCACHE}")
    if(SHARDWRIGHT_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(shardwright_options INTERFACE -fpch-preprocess)
    elseif(SHARDWRIGHT_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        target_compile_options(shardwright_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
endif()

# Test programs hold the whole core; mold links one in a fraction of the time that ld takes.
find_program(SHARDWRIGHT_MOLD mold DOC "The mold linker; empty for the compiler's own")
if(SHARDWRIGHT_MOLD)
    include(CheckCXXSourceCompiles)
    set(CMAKE_REQUIRED_LINK_OPTIONS -fuse-ld=mold)
    check_cxx_source_compiles("int main() {}" SHARDWRIGHT_MOLD_WORKS)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    if(SHARDWRIGHT_MOLD_WORKS)
        target_link_options(shardwright_options INTERFACE -fuse-ld=mold)
    endif()
endif()
