#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds what is needed, and opens the editor.
#   packaging/run.sh [MODEL.onnx]      without one: build/examples/mlp.onnx, a copy of an example
set -euo pipefail
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then # from the folder of the caller
    set -- "$(realpath "$1")" "${@:2}"
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source packaging/build.sh
packaging/setup.sh
build_preset release shardwright shardwright-cli shardwright-worker
if [ $# = 0 ] && [ -e resources/examples/mlp.onnx ]; then
    mkdir -p build/examples # A copy, so that saving does not change the checkout.
    cp -n resources/examples/mlp.onnx build/examples/
    set -- build/examples/mlp.onnx
fi
if [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}${QT_QPA_PLATFORM:-}" ]; then
    echo "run: no display: set DISPLAY, or look at it with: xvfb-run packaging/run.sh" >&2
    exit 1
fi
exec build/release/bin/shardwright "$@"
