#!/bin/sh
# Builds `bench-openmp` in the working directory from the C code in FOLDER (emit.py), with the flags of packages
# (compiler/src/package/cc.rs) for LEVEL (x86-64-v3 unless given). Used as: build.sh FOLDER [LEVEL]
set -e
here=$(dirname "$0")
ours="-std=gnu11 -O3 -fopenmp -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv -fno-strict-aliasing -fno-builtin \
    -fno-loop-unroll-and-jam -fno-thread-jumps -fno-tree-partial-pre -march=${2:-x86-64-v3} -mtune=generic"
objects=
for file in "$1"/*.c; do
    object=$(basename "$file" .c).o
    gcc $ours -I"$here" -c "$file" -o "$object" &
    objects="$objects $object"
done
gcc -std=gnu11 -O3 -march=native -ffast-math -fopenmp -c "$here/peers.c" -o peers.o
gcc -std=gnu11 -O2 -fopenmp -c "$here/main.c" -o main.o
wait
gcc -fopenmp $objects peers.o main.o -o bench-openmp -lm
