#!/bin/sh
# Runs the benchmark on the GPU: rows in $OUT/rows.jsonl (default: out/), a table at the end.
# run-bench.sh [FILTER] [--package lib<name>.so]... [--rounds N] [--log2 N]...
# Other packages export the functions of share/kernels; their rows are "arraygpu:<name>".
# run-bench.sh functions [NAME] [--package lib<name>.so]...    the elementary functions beside CUDA's alone: rows in $OUT/functions.jsonl
# run-bench.sh online    what is compiled while the program runs: rows are appended to $OUT/rows.jsonl
# run-bench.sh calls    what a call on the CPU costs beside its work: rows are appended to $OUT/rows.jsonl
# run-bench.sh shapes [FILTER] [--rounds N]    stencils, sums of rows and columns, all pairs alone: rows are appended to $OUT/rows.jsonl
cd "$(dirname "$0")" || exit 2
OUT=${OUT:-$PWD/out}
mkdir -p "$OUT" || exit 2
nvcc=$(command -v nvcc || command -v "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
# the peers' library of that name: from the bundle, or compiled here
peers() {
    library=lib/libarraygpu-$1.so
    if [ ! -e "$library" ]; then
        library=$OUT/libarraygpu-$1.so
        if [ -n "$nvcc" ] && [ ! -e "$library" ]; then
            echo "compiling $1.cu with $nvcc (half a minute)" >&2
            "$nvcc" -O3 -std=c++17 -arch=sm_90 -shared -cudart static -Xcompiler -fPIC -o "$library" "share/bench/$1.cu" -ldl >&2
        fi
    fi
    echo "$library"
}
# the elementary functions; without CUDA's there is nothing to compare with
functions() {
    library=$(peers functions)
    [ -e "$library" ] || return 0
    bench/arraygpu-gpu-functions --rows "$OUT/functions.jsonl" --peers "$library" --package lib/libfunctions.so "$@"
}
# stencils, sums of rows and columns, all pairs
shapes() {
    bench/arraygpu-shape-bench --rows "$OUT/rows.jsonl" --peers "$(peers shapes)" "$@"
}
# compiling while the program runs, beside NVRTC; the second process finds machine code on disk
online() {
    if [ -n "$nvcc" ]; then
        "$nvcc" -O2 -std=c++17 -arch=sm_90 -o "$OUT/jit" share/bench/jit.cu -ldl >&2 && CUDA_CACHE_DISABLE=1 "$OUT/jit" >>"$OUT/rows.jsonl"
    fi
    CUDA_CACHE_DISABLE=1 ARRAYGPU_CACHE=off bench/arraygpu-online-bench >>"$OUT/rows.jsonl" || return 1
    CUDA_CACHE_DISABLE=1 ARRAYGPU_CACHE="$OUT/cache" bench/arraygpu-online-bench disk >/dev/null || return 1
    CUDA_CACHE_DISABLE=1 ARRAYGPU_CACHE="$OUT/cache" bench/arraygpu-online-bench disk >>"$OUT/rows.jsonl" || return 1
    grep '"name":"jit"' "$OUT/rows.jsonl"
}
if [ "$1" = online ]; then
    online
    exit $?
fi
if [ "$1" = calls ]; then
    exec bench/arraygpu-calls-bench --rows "$OUT/rows.jsonl"
fi
if [ "$1" = shapes ]; then
    shift
    shapes "$@"
    exit $?
fi
if [ "$1" = functions ]; then
    shift
    functions "$@"
    exit $?
fi
bench/arraygpu-gpu-bench --rows "$OUT/rows.jsonl" --peers "$(peers peers)" "$@"
status=$?
bench/arraygpu-options-bench --rows "$OUT/rows.jsonl" --peers "$(peers options)" || status=1
[ $# -gt 0 ] || shapes || status=1
[ $# -gt 0 ] || functions || status=1
[ $# -gt 0 ] || online || status=1
# the first call, each time in a fresh process
for name in saxpy rmse normalise; do
    for time in 1 2 3 4 5; do bench/arraygpu-first-call $name >>"$OUT/rows.jsonl" || status=1; done
done
grep first_call "$OUT/rows.jsonl"
exit $status
