# SPDX-License-Identifier: Apache-2.0
# Sourced by run.sh and test.sh, from the root of the repository.

# build_preset PRESET [TARGET...]: configures and builds, with output only where something is wrong.
build_preset() {
    local preset=$1 log=build/$1.log begin=$SECONDS
    shift
    mkdir -p build
    if [ ! -e "build/$preset/build.ninja" ] && ! cmake --preset "$preset" > "$log" 2>&1; then
        cat "$log" >&2
        return 1
    fi
    if ! cmake --build --preset "$preset" ${1:+--target "$@"} > "$log" 2>&1; then
        grep -vE '^\[[0-9]+/[0-9]+\] ' "$log" | head -n 200 >&2
        echo "build: FAILED (preset $preset); all output: $log" >&2
        return 1
    fi
    if [ $((SECONDS - begin)) -gt 2 ]; then
        echo "build: preset $preset: done ($((SECONDS - begin)) s)"
    fi
}
