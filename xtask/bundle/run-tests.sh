#!/bin/sh
# Runs every test program, on the CPU and on the GPU, each twice: both runs must print the same.
# run-tests.sh [cpu] [cuda] [only NAME]     without a device: the CPU, and the GPU if there is one
# The last line is `N passed, M failed`; the exit code is 0 if nothing failed. Logs stay in $OUT (default: out/).
cd "$(dirname "$0")" || exit 2
OUT=${OUT:-$PWD/out}
mkdir -p "$OUT" || exit 2
devices= only=
while [ $# -gt 0 ]; do
    case $1 in
        cpu | cuda) devices="$devices $1" ;;
        only) only=$2; shift ;;
        *) echo "usage: $0 [cpu] [cuda] [only NAME]" >&2; exit 2 ;;
    esac
    shift
done
if [ -z "$devices" ]; then
    devices=cpu
    if [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then devices="cpu cuda"; else echo "no GPU here: on the CPU only"; fi
fi
[ ! -e data/random.tar ] || tar -xf data/random.tar -C "$OUT" || exit 2
passed=0 failed=0
# Times that a test program prints are no results.
steady() { sed 's/finished in .*//; s/(took .*)//; s/, [0-9]* s ([0-9]* programs a second)//' "$1"; }
for device in $devices; do
    while read -r program arguments; do
        case $program in *"$only"*) ;; *) continue ;; esac
        name=$device-$(echo "${program#tests/}" | tr / -)
        arguments=$(printf %s "$arguments" | sed "s|@OUT@|$OUT|g")
        status=0
        for run in 1 2; do
            # shellcheck disable=SC2086 # several words
            ARRAYGPU_DEVICE=$device timeout "${TEST_TIMEOUT:-900}" "./$program" $arguments >"$OUT/$name.$run" 2>"$OUT/$name.$run.err" || status=$?
        done
        steady "$OUT/$name.1" >"$OUT/$name.a"
        steady "$OUT/$name.2" >"$OUT/$name.b"
        case $program in tests/rust/*) sort -o "$OUT/$name.a" "$OUT/$name.a"; sort -o "$OUT/$name.b" "$OUT/$name.b" ;; esac
        if [ $status -eq 0 ] && ! cmp -s "$OUT/$name.a" "$OUT/$name.b"; then
            status="other output in the second run"
            diff "$OUT/$name.a" "$OUT/$name.b" >>"$OUT/$name.2.err"
        fi
        rm -f "$OUT/$name.a" "$OUT/$name.b"
        # a program that counts its tests says `N passed` in its last lines
        count=$(grep -o '[0-9]* passed' "$OUT/$name.2" | tail -1 | cut -d' ' -f1)
        if [ "$status" = 0 ]; then
            passed=$((passed + ${count:-1}))
            echo "ok      $device $program${count:+ ($count)}"
        else
            failed=$((failed + 1))
            echo "FAILED  $device $program: $status"
            tail -n 20 "$OUT/$name.1" "$OUT/$name.1.err" "$OUT/$name.2.err" | sed 's/^/        /' | head -60
        fi
    done <tests.list
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
