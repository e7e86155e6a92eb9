# SPDX-License-Identifier: Apache-2.0
# Finds what packaging/setup.sh installs, without any download. What lies in a prefix of the user's own
# (CMAKE_PREFIX_PATH, or the variables below) comes first. packaging/env.sh names the same places.

# --- the cached prefix -----------------------------------------------------------------------------------------------
if(DEFINED ENV{XDG_CACHE_HOME} AND NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    set(shardwright_cache "$ENV{XDG_CACHE_HOME}/shardwright")
else()
    set(shardwright_cache "$ENV{HOME}/.cache/shardwright")
endif()
set(shardwright_pins "${PROJECT_SOURCE_DIR}/packaging/test-requirements.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${shardwright_pins}")
file(STRINGS "${shardwright_pins}" pin REGEX "^onnx==")
string(REGEX REPLACE "^onnx==([0-9.]+).*" "\\1" shardwright_onnx_version "${pin}")
file(STRINGS "${shardwright_pins}" pin REGEX "^onnxruntime==")
string(REGEX REPLACE "^onnxruntime==([0-9.]+).*" "\\1" shardwright_ort_version "${pin}")
file(SHA256 "${shardwright_pins}" pin)
string(SUBSTRING "${pin}" 0 12 pin)

# --- required --------------------------------------------------------------------------------------------------------
find_package(Threads REQUIRED)
find_package(ZLIB)
find_package(Protobuf) # before ONNX, whose config file uses its targets
find_package(CLI11 CONFIG QUIET)
find_package(nlohmann_json CONFIG QUIET)
foreach(package Protobuf ZLIB CLI11 nlohmann_json)
    if(NOT ${package}_FOUND)
        message(FATAL_ERROR "${package} not found: run packaging/setup.sh")
    endif()
endforeach()

# Two calls, so that the user's own prefix is preferred. The version file of ONNX accepts only an equal major version,
# which is what is wanted.
find_package(ONNX 1.23 CONFIG QUIET)
if(NOT ONNX_FOUND)
    set(prefix "${shardwright_cache}/onnx-${shardwright_onnx_version}-protobuf${Protobuf_VERSION}-${CMAKE_SYSTEM_PROCESSOR}")
    find_package(ONNX 1.23 CONFIG QUIET PATHS "${prefix}" NO_DEFAULT_PATH)
endif()
if(NOT ONNX_FOUND)
    message(FATAL_ERROR "libonnx >= 1.23 not found: run packaging/setup.sh "
                        "(looked in CMAKE_PREFIX_PATH and in ${prefix})")
endif()
message(STATUS "libonnx ${ONNX_VERSION}: ${ONNX_DIR}")

set(qt_version 6.4)
# moc 6.4 fails in libstdc++ headers when it takes the compiler for one with concepts, as its macros say.
set(CMAKE_AUTOMOC_COMPILER_PREDEFINES OFF)
if(SHARDWRIGHT_BUILD_UI)
    find_package(Qt6 ${qt_version} QUIET COMPONENTS Core Gui Widgets Svg)
    if(NOT Qt6_FOUND)
        message(FATAL_ERROR "Qt >= ${qt_version} (Core, Gui, Widgets, Svg) not found: run packaging/setup.sh, or build "
                            "without the editor: -DSHARDWRIGHT_BUILD_UI=OFF")
    endif()
endif()
if(SHARDWRIGHT_BUILD_TESTS)
    find_package(Qt6 ${qt_version} QUIET COMPONENTS Core Test)
    if(NOT Qt6_FOUND)
        message(FATAL_ERROR "Qt >= ${qt_version} (Core, Test) not found: run packaging/setup.sh, or build without tests: "
                            "-DSHARDWRIGHT_BUILD_TESTS=OFF")
    endif()
endif()

# --- found or left out -----------------------------------------------------------------------------------------------
# The default of NAME is the environment variable of that name, else `fallback`, if it exists.
function(shardwright_default name type fallback doc)
    set(value "$ENV{${name}}")
    if(value STREQUAL "" OR NOT EXISTS "${value}")
        set(value "${fallback}")
    endif()
    if(NOT EXISTS "${value}")
        set(value "")
    endif()
    # A value that no longer exists, or an empty one, is looked for again.
    if(NOT EXISTS "${${name}}")
        set(${name} "${value}" CACHE ${type} "${doc}" FORCE)
    endif()
endfunction()

shardwright_default(SHARDWRIGHT_ONNXRUNTIME FILEPATH
    "${shardwright_cache}/onnxruntime-${shardwright_ort_version}/lib/libonnxruntime.so"
    "ONNX Runtime's shared library, which the worker loads to run kernels")
shardwright_default(SHARDWRIGHT_PYTHON FILEPATH
    "${shardwright_cache}/python-${pin}/bin/python"
    "Python with the packages of packaging/test-requirements.txt, for the tests")
if(SHARDWRIGHT_ONNXRUNTIME)
    # Where the programs look for it relative to themselves, here as when installed.
    file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/lib/shardwright")
    file(CREATE_LINK "${SHARDWRIGHT_ONNXRUNTIME}" "${CMAKE_BINARY_DIR}/lib/shardwright/libonnxruntime.so" SYMBOLIC)
else()
    message(STATUS "ONNX Runtime: not found, models cannot be run (packaging/setup.sh fetches it)")
endif()
if(SHARDWRIGHT_BUILD_TESTS AND NOT SHARDWRIGHT_PYTHON)
    message(STATUS "Python for the tests: not found, tests that need it are skipped (packaging/setup.sh makes it)")
endif()

# Open MPI (packaging/setup.sh installs it) for the plug-in of runs over several processes and hosts.
set(MPI_CXX_SKIP_MPICXX TRUE) # The C++ bindings of MPI 2 are gone from the standard.
find_package(MPI QUIET COMPONENTS CXX)
if(MPI_CXX_FOUND)
    message(STATUS "MPI: ${MPI_CXX_VERSION}, ${MPI_CXX_LIBRARIES}")
else()
    message(STATUS "MPI: not found, runs over several processes are left out")
endif()

# CUDA and NCCL for the plug-in of GPU runs: a local toolkit, else what `packaging/setup.sh --cuda` fetched.
file(SHA256 "${PROJECT_SOURCE_DIR}/packaging/cuda-requirements.txt" pin)
string(SUBSTRING "${pin}" 0 12 pin)
set(cuda_prefix "${shardwright_cache}/cuda-${pin}/nvidia")
find_package(CUDAToolkit QUIET)
if(NOT CUDAToolkit_FOUND AND EXISTS "${cuda_prefix}")
    set(CUDAToolkit_ROOT "${cuda_prefix}/cu13")
    find_package(CUDAToolkit QUIET)
    unset(CUDAToolkit_ROOT)
endif()
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${cuda_prefix}/nccl PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR} ${cuda_prefix}/nccl PATH_SUFFIXES lib)
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
if(TARGET CUDA::cudart AND NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
    add_library(shardwright_cuda INTERFACE)
    target_include_directories(shardwright_cuda SYSTEM INTERFACE "${NCCL_INCLUDE_DIR}")
    target_link_libraries(shardwright_cuda INTERFACE CUDA::cudart "${NCCL_LIBRARY}")
    set(CMAKE_CUDA_ARCHITECTURES OFF) # Each target says its own.
    # An nvcc that does not work with this compiler leaves the plug-in out, and nothing else.
    if(NOT DEFINED ENV{CUDACXX})
        set(ENV{CUDACXX} "${CUDAToolkit_NVCC_EXECUTABLE}")
    endif()
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        enable_language(CUDA)
    endif()
    message(STATUS "CUDA: ${CUDAToolkit_VERSION}, NCCL: ${NCCL_LIBRARY}")
else()
    message(STATUS "CUDA: not found, GPU runs are left out")
endif()
