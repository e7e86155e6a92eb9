# SPDX-License-Identifier: Apache-2.0
# Where the set-up script puts things, and what of the user's own comes before them. Sourced by the other scripts here;
# CMakeLists.txt looks in the same places (cmake/ShardwrightDependencies.cmake).
# `source packaging/env.sh; export_shardwright_env` sets the environment of an interactive shell.

shardwright_packaging=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
shardwright_cache=${XDG_CACHE_HOME:-$HOME/.cache}/shardwright

pinned_version() {
    sed -n "s/^$1==\([0-9.]*\).*/\1/p" "$shardwright_packaging/test-requirements.txt"
}

# libonnx depends on the protobuf it is built against, so its prefix is named after that, too.
resolve_shardwright_paths() {
    local protobuf requirements
    onnx_version=$(pinned_version onnx)
    ort_version=$(pinned_version onnxruntime)
    protobuf=$(protoc --version 2> /dev/null || true)
    onnx_prefix=$shardwright_cache/onnx-$onnx_version-protobuf${protobuf##* }-$(uname -m)
    ort_prefix=$shardwright_cache/onnxruntime-$ort_version
    requirements=$(sha256sum "$shardwright_packaging/test-requirements.txt")
    test_venv=$shardwright_cache/python-${requirements:0:12}
}

# Whether a libonnx >= 1.23 lies in CMAKE_PREFIX_PATH, ONNX_ROOT or ONNX_DIR.
user_has_libonnx() {
    local prefix file version
    local -a prefixes
    IFS=':;' read -ra prefixes <<< "${CMAKE_PREFIX_PATH:-}:${ONNX_ROOT:-}:${ONNX_DIR:-}"
    for prefix in "${prefixes[@]}"; do
        [ -n "$prefix" ] || continue
        for file in "$prefix"/ONNXConfigVersion.cmake "$prefix"/lib*/{,*/}cmake/ONNX/ONNXConfigVersion.cmake; do
            [ -e "$file" ] || continue
            version=$(sed -n 's/^set(PACKAGE_VERSION "\([0-9.]*\)").*/\1/p' "$file")
            [ "$(printf '%s\n' 1.23 "$version" | sort -V | head -n 1)" = 1.23 ] && return 0
        done
    done
    return 1
}

export_shardwright_env() {
    resolve_shardwright_paths
    if ! user_has_libonnx; then
        export CMAKE_PREFIX_PATH=$onnx_prefix${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
    fi
    export SHARDWRIGHT_ONNXRUNTIME=${SHARDWRIGHT_ONNXRUNTIME:-$ort_prefix/lib/libonnxruntime.so}
    export SHARDWRIGHT_PYTHON=${SHARDWRIGHT_PYTHON:-$test_venv/bin/python}
}

print_shardwright_env() {
    export_shardwright_env
    local name
    for name in CMAKE_PREFIX_PATH SHARDWRIGHT_ONNXRUNTIME SHARDWRIGHT_PYTHON; do
        printf 'export %s=%q\n' "$name" "${!name-}"
    done
}
