# SPDX-License-Identifier: Apache-2.0
# Sourced by setup.sh --cuda: a local CUDA toolkit with NCCL is used as it is, else both come from PyPI.

local_cuda() {
    local nvcc root dir
    nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) || return 1
    root=$(dirname "$(dirname "$(realpath "$nvcc")")")
    for dir in "$root" /usr /usr/local; do
        if [ -e "$dir/include/nccl.h" ]; then
            echo "$root"
            return 0
        fi
    done
    return 1
}

fetch_cuda() {
    doing "fetch the wheels of packaging/cuda-requirements.txt from PyPI (about 400 MB)"
    "$system_python" -m venv "$work/cuda-venv"
    pip "$work/cuda-venv" install --only-binary :all: --no-deps --target "$work/cuda" \
        -r "$here/cuda-requirements.txt"
    # The wheels have no names to link against, and compilers look in lib64.
    local library
    for library in "$work"/cuda/nvidia/*/lib/lib*.so.*; do
        ln -sf "$(basename "$library")" "${library%%.so.*}.so"
    done
    ln -sfn lib "$work/cuda/nvidia/cu13/lib64"
    doing "install CUDA and NCCL into $cuda_prefix"
    mv -T "$work/cuda" "$cuda_prefix"
}

set_up_cuda() {
    local root sum
    if root=$(local_cuda); then
        echo "setup: CUDA and NCCL: those of $root"
        return
    fi
    sum=$(sha256sum "$here/cuda-requirements.txt")
    cuda_prefix=$shardwright_cache/cuda-${sum:0:12}
    [ -e "$cuda_prefix" ] || step "CUDA and NCCL" fetch_cuda
}
