#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks on a machine with an NVIDIA GPU what one GPU can show of runs on GPUs. docs/runs.md says what it cannot.
#   packaging/check-gpu.sh [FOLDER]     of onnxruntime-gpu's libonnxruntime.so, for kernels too (else those are left out)
# With BIN=DIR it takes programs that are built already: DIR/bin and DIR/tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -z "${BIN:-}" ]; then
    source packaging/build.sh
    packaging/setup.sh --cuda
    build_preset ci shardwright-cli shardwright-worker test_gpu_one_gpu test_core_run_collectives test_core_run_communicator
    BIN=build/ci
fi
source packaging/env.sh
export_shardwright_env
export SHARDWRIGHT_PLUGINS=$BIN/lib/shardwright QT_QPA_PLATFORM=offscreen
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
failed=0
check() {
    echo "== $1"
    shift
    "$@" || { failed=1; echo "== FAILED"; }
}
quiet() { "$@" | grep -vE '^PASS|^\*\*\*\*|^Config' || [ "${PIPESTATUS[0]}" = 0 ]; }
check "kernels, memory, streams, NCCL with one rank" "$BIN/tests/gpu/tst_one_gpu"
export SHARDWRIGHT_TEST_TRANSPORT=gpu
check "collectives of devices that share the GPU, all kinds, types and sizes" quiet "$BIN/tests/core/run/tst_collectives"
check "faults of devices that share the GPU" quiet "$BIN/tests/core/run/tst_communicator"
unset SHARDWRIGHT_TEST_TRANSPORT
if [ $# -gt 0 ]; then
    export SHARDWRIGHT_ONNXRUNTIME=$1/libonnxruntime.so
    model=$(mktemp -d)/mlp.onnx
    "$BIN/bin/shardwright-cli" annotate resources/examples/mlp.onnx --mesh tp=2 --shard w1:1=tp --shard w2:0=tp -o "$model"
    check "a run of two devices on one GPU" "$BIN/bin/shardwright-cli" run "$model" --backend cuda --verify=all
    # NCCL refuses two ranks on one GPU, and so does the run before it starts.
    if [ "$(nvidia-smi -L | wc -l)" = 1 ]; then
        check "too few GPUs are refused" bash -c "! '$BIN/bin/shardwright-cli' run '$model' --backend cuda --transport nccl"
    else
        check "a run over NCCL" "$BIN/bin/shardwright-cli" run "$model" --backend cuda --transport nccl --verify=all
    fi
else
    echo "== left out: runs with ONNX Runtime's CUDA kernels (no folder given)"
fi
[ $failed = 0 ] && echo "check-gpu: all passed"
exit $failed
