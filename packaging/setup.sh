#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs everything that Shardwright builds, runs and tests with, on Debian 12 or later. Safe to repeat; when all of
# it is there, it needs no network and takes a moment.
#
#   packaging/setup.sh               Debian packages, libonnx, ONNX Runtime, Python for the tests
#   packaging/setup.sh --cuda        ... and CUDA and NCCL, if no local toolkit has them
#   packaging/setup.sh --print-env   no installation: shell lines that export what the build and the tests look for
#
# Everything but the Debian packages lies in ${XDG_CACHE_HOME:-$HOME/.cache}/shardwright. What you have wins:
#   CMAKE_PREFIX_PATH          with an ONNX >= 1.23: libonnx is not built
#   SHARDWRIGHT_ONNXRUNTIME    an existing libonnxruntime.so: no other is fetched
#   SHARDWRIGHT_PYTHON         an existing Python with the packages of test-requirements.txt: no other is made
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/env.sh"

debian_packages=(
    g++ cmake ninja-build ccache mold git dpkg-dev
    qt6-base-dev qt6-svg-dev qt6-qpa-plugins fonts-dejavu-core xvfb
    libprotobuf-dev protobuf-compiler zlib1g-dev libcli11-dev nlohmann-json3-dev
    graphviz libopenmpi-dev openmpi-bin python3-venv ca-certificates
    clang libclang-rt-dev llvm)

log=$shardwright_cache/setup.log
system_python=/usr/bin/python3

# --- steps: each runs in its own shell, its output goes to the log ---------------------------------------------------

# Says what a step is about to do: the last such line is what a failure is reported with.
doing() {
    echo "$*" > "$work/doing"
    echo "== $*"
}

# pip from the venv $1; only pinned files whose checksums match.
pip() {
    "$1/bin/python" -m pip --disable-pip-version-check --retries 2 "${@:2}" --require-hashes
}

install_debian_packages() {
    local sudo=()
    if [ "$(id -u)" != 0 ]; then
        doing "sudo: not root, so run as root: apt-get install ${missing[*]}"
        sudo -n true 2> /dev/null || sudo -v
        sudo=(sudo)
    fi
    local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q)
    doing "apt-get update"
    "${apt[@]}" update
    doing "apt-get install ${missing[*]}"
    "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

# The pin of one package ($1), with its checksums, from test-requirements.txt.
pinned() {
    awk -v start="$1==" 'index($0, start) == 1 { on = 1 } on { print } on && !/\\$/ { exit }' \
        "$here/test-requirements.txt"
}

build_libonnx() {
    doing "fetch the build tools of packaging/build-requirements.txt from PyPI"
    "$system_python" -m venv "$work/tools"
    pip "$work/tools" install --only-binary :all: -r "$here/build-requirements.txt"

    doing "fetch the source package onnx==$onnx_version from PyPI"
    pinned onnx > "$work/onnx.txt"
    PATH=$work/tools/bin:$PATH pip "$work/tools" download --no-deps --no-binary onnx --no-build-isolation \
        --dest "$work" -r "$work/onnx.txt"
    tar -xzf "$work/onnx-$onnx_version.tar.gz" -C "$work"

    doing "build libonnx $onnx_version"
    export CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
    "$work/tools/bin/cmake" -S "$work/onnx-$onnx_version" -B "$work/build" -G Ninja \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
        -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" -DPython3_EXECUTABLE="$system_python" \
        -DONNX_USE_PROTOBUF_SHARED_LIBS=ON -DONNX_BUILD_PYTHON=OFF -DONNX_BUILD_TESTS=OFF \
        -DFETCHCONTENT_FULLY_DISCONNECTED=ON -DCMAKE_INSTALL_PREFIX="$work/prefix" -DCMAKE_INSTALL_LIBDIR=lib
    "$work/tools/bin/cmake" --build "$work/build" --target install
    find "$work/prefix" -type d -empty -delete
    install -Dm644 "$work/onnx-$onnx_version/LICENSE" "$work/prefix/share/doc/onnx/LICENSE"

    doing "install libonnx into $onnx_prefix"
    mv -T "$work/prefix" "$onnx_prefix"
}

fetch_onnxruntime() {
    doing "fetch the wheel onnxruntime==$ort_version from PyPI"
    "$system_python" -m venv "$work/ort-venv"
    pinned onnxruntime > "$work/ort.txt"
    pip "$work/ort-venv" download --no-deps --only-binary :all: --dest "$work/wheel" -r "$work/ort.txt"

    doing "unpack libonnxruntime.so.$ort_version into $ort_prefix"
    "$system_python" -m zipfile -e "$work"/wheel/onnxruntime-*.whl "$work/ort-wheel"
    install -D -t "$work/ort/lib" "$work/ort-wheel/onnxruntime/capi/libonnxruntime.so.$ort_version"
    install -Dm644 -t "$work/ort/share/doc/onnxruntime" "$work"/ort-wheel/onnxruntime/{LICENSE,ThirdPartyNotices.txt}
    ln -s "libonnxruntime.so.$ort_version" "$work/ort/lib/libonnxruntime.so.1"
    ln -s libonnxruntime.so.1 "$work/ort/lib/libonnxruntime.so"
    mv -T "$work/ort" "$ort_prefix"
}

# A venv cannot be moved once made, so this one is built in place and marked when complete.
make_test_python() {
    doing "fetch the packages of packaging/test-requirements.txt from PyPI"
    rm -rf "$test_venv"
    "$system_python" -m venv "$test_venv"
    pip "$test_venv" install --only-binary :all: -r "$here/test-requirements.txt"
    touch "$test_venv/.complete"
}

# --- running the steps -----------------------------------------------------------------------------------------------

# What went wrong, in words, as far as the end of the log tells.
explain() {
    case $(tail -n 150 "$log") in
        *"DO NOT MATCH THE HASHES"*)
            grep -E '^ +[^ ]+==[^ ]+ from |^ +Got ' "$log" | tail -n 2
            echo "This downloaded file differs from the one pinned in packaging/. It was not used. If a proxy or mirror"
            echo "changed it, use another; if the pin is wrong, correct it." ;;
        *"NewConnectionError"* | *"ProxyError"* | *"Temporary failure"* | *"Could not resolve"* | *"Could not connect"*)
            echo "The network or the package server cannot be reached. Check the connection and http_proxy, then"
            echo "run this again: what is done is kept." ;;
        *"No space left"*) echo "The disk is full: $shardwright_cache needs about 2 GB while building." ;;
        *"Killed"* | *"cc1plus"*"terminated"*)
            echo "The compiler was killed, probably for memory. Run this again with CMAKE_BUILD_PARALLEL_LEVEL=1." ;;
        *) tail -n 8 "$log" | sed 's/^/  | /' ;;
    esac
}

# step NAME FUNCTION: runs the function, says one line when it is done.
step() {
    local begin=$SECONDS status
    echo "==== $(date '+%F %T') $1" >> "$log"
    set +e
    (set -e && "$2") < /dev/null >> "$log" 2>&1
    status=$?
    set -e
    if [ "$status" != 0 ]; then
        {
            echo "setup: FAILED: $1, at: $(cat "$work/doing")"
            explain
            echo "All details: $log"
        } >&2
        exit 1
    fi
    echo "setup: $1: done ($((SECONDS - begin)) s)"
}

missing_debian_packages() {
    command -v dpkg-query > /dev/null || return 0
    local installed
    installed=$(dpkg-query -W -f '${binary:Package} ${db:Status-Status}\n' "${debian_packages[@]}" 2> /dev/null |
        sed -n 's/^\([^: ]*\)[^ ]* installed$/\1/p' || true)
    comm -23 <(printf '%s\n' "${debian_packages[@]}" | sort) <(sort <<< "$installed")
}

cuda=no
for argument; do
    case $argument in
        --print-env) print_shardwright_env; exit ;;
        --cuda) cuda=yes ;;
        -h | --help) sed -n '3,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit ;;
        *) echo "setup: unknown argument '$argument'; see --help" >&2; exit 2 ;;
    esac
done

mkdir -p "$shardwright_cache"
exec 9> "$shardwright_cache/.lock"
flock -n 9 || { echo "setup: waiting for another setup.sh to finish"; flock 9; }
rm -rf "$shardwright_cache"/.work.*
work=$(mktemp -d "$shardwright_cache/.work.XXXXXX")
trap 'rm -rf "$work"' EXIT
: > "$log"

mapfile -t missing < <(missing_debian_packages)
if [ ${#missing[@]} != 0 ]; then
    step "Debian packages" install_debian_packages
fi
resolve_shardwright_paths # protoc may only now be there
if ! user_has_libonnx && [ ! -e "$onnx_prefix" ]; then
    echo "setup: building libonnx $onnx_version once (2 to 5 minutes)"
    step "libonnx $onnx_version" build_libonnx
fi
if [ ! -e "${SHARDWRIGHT_ONNXRUNTIME:-}" ] && [ ! -e "$ort_prefix" ]; then
    step "ONNX Runtime $ort_version" fetch_onnxruntime
fi
if [ ! -x "${SHARDWRIGHT_PYTHON:-}" ] && [ ! -e "$test_venv/.complete" ]; then
    step "Python for the tests" make_test_python
fi
if [ "$cuda" = yes ]; then
    source "$here/cuda.sh"
    set_up_cuda
fi
echo "setup: everything is there"
