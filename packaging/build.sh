# SPDX-License-Identifier: Apache-2.0
# Sourced by run.sh and test.sh, from the root of the repository.

# tell_progress PRESET LOG: the log's name after some seconds, then "[120/840]" of it each minute, until it is killed or the script is gone.
tell_progress() {
    local second=0 step
    while sleep 1 && kill -0 $$ 2> /dev/null; do
        second=$((second + 1))
        if [ $second = 3 ]; then
            echo "build: preset $1, log: $2"
        elif [ $((second % 60)) = 0 ]; then
            step=$(grep -oE '^\[[0-9]+/[0-9]+\]' "$2" | tail -n 1) || step=""
            echo "build: preset $1: ${step:-begun}, $((second / 60)) min"
        fi
    done
}

# build_preset PRESET [TARGET...]: configures and builds, with all output in a log, and once a minute how far it is.
build_preset() {
    local preset=$1 log=build/$1.log begin=$SECONDS
    shift
    mkdir -p build
    if [ ! -e "build/$preset/build.ninja" ] && ! cmake --preset "$preset" > "$log" 2>&1; then
        cat "$log" >&2
        return 1
    fi
    tell_progress "$preset" "$log" &
    local teller=$! ok=0
    cmake --build --preset "$preset" ${1:+--target "$@"} > "$log" 2>&1 || ok=1
    kill "$teller" 2> /dev/null || true
    wait "$teller" 2> /dev/null || true
    if [ $ok = 1 ]; then
        grep -vE '^\[[0-9]+/[0-9]+\] ' "$log" | head -n 200 >&2
        echo "build: FAILED (preset $preset); all output: $log" >&2
        return 1
    fi
    if [ $((SECONDS - begin)) -gt 2 ]; then
        echo "build: preset $preset: done ($((SECONDS - begin)) s)"
    fi
}
