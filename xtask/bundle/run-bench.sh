#!/bin/sh
# Runs the benchmark on the GPU: rows in $OUT/rows.jsonl (default: out/), a table at the end.
# run-bench.sh [FILTER] [--package lib<name>.so]... [--rounds N] [--log2 N]...
# Other packages export the functions of share/kernels; their rows are "arraygpu:<name>".
cd "$(dirname "$0")" || exit 2
OUT=${OUT:-$PWD/out}
mkdir -p "$OUT" || exit 2
peers=lib/libarraygpu-peers.so
if [ ! -e $peers ]; then
    nvcc=$(command -v nvcc || command -v "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
    peers=$OUT/libarraygpu-peers.so
    if [ -n "$nvcc" ] && [ ! -e "$peers" ]; then
        echo "compiling the peers with $nvcc (half a minute)"
        "$nvcc" -O3 -std=c++17 -arch=sm_90 -shared -cudart static -Xcompiler -fPIC -o "$peers" share/bench/peers.cu -ldl
    fi
fi
bench/arraygpu-gpu-bench --rows "$OUT/rows.jsonl" --peers "$peers" "$@"
status=$?
# the first call, each time in a fresh process
for name in saxpy rmse normalise; do
    for time in 1 2 3 4 5; do bench/arraygpu-first-call $name >>"$OUT/rows.jsonl" || status=1; done
done
grep first_call "$OUT/rows.jsonl"
exit $status
