#!/bin/sh
# Runs the benchmark on the GPU: rows in $OUT/rows.jsonl (default: out/), a table at the end.
# run-bench.sh [FILTER] [--package lib<name>.so]...
cd "$(dirname "$0")" || exit 2
OUT=${OUT:-$PWD/out}
mkdir -p "$OUT" || exit 2
if [ ! -x bench/arraygpu-gpu-bench ]; then
    echo "this bundle has no benchmark" >&2
    exit 3
fi
exec bench/arraygpu-gpu-bench --rows "$OUT/rows.jsonl" "$@"
