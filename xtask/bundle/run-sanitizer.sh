#!/bin/sh
# Runs the test programs on the GPU under compute-sanitizer: memcheck, racecheck, initcheck, synccheck.
# run-sanitizer.sh [TOOL]... [only NAME]     SANITIZER: the tool's path. Logs stay in $OUT (default: out/).
cd "$(dirname "$0")" || exit 2
OUT=${OUT:-$PWD/out}
mkdir -p "$OUT" || exit 2
tools= only=
while [ $# -gt 0 ]; do
    case $1 in
        only) only=$2; shift ;;
        *) tools="$tools $1" ;;
    esac
    shift
done
sanitizer=${SANITIZER:-}
for candidate in compute-sanitizer "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" /usr/local/cuda/compute-sanitizer/compute-sanitizer; do
    [ -n "$sanitizer" ] || sanitizer=$(command -v "$candidate")
done
if [ -z "$sanitizer" ]; then
    echo "no compute-sanitizer here: install CUDA's, or name it in SANITIZER"
    exit 3
fi
[ ! -e data/random.tar ] || tar -xf data/random.tar -C "$OUT" || exit 2
passed=0 failed=0
for tool in ${tools:-memcheck racecheck initcheck synccheck}; do
    while read -r program arguments; do
        case $program in *"$only"*) ;; *) continue ;; esac
        name=$tool-$(echo "${program#tests/}" | tr / -)
        arguments=$(printf %s "$arguments" | sed "s|@OUT@|$OUT|g")
        # shellcheck disable=SC2086 # several words
        ARRAYGPU_DEVICE=cuda ARRAYGPU_SANITIZER=1 timeout "${TEST_TIMEOUT:-600}" "$sanitizer" --tool "$tool" --error-exitcode 99 --report-api-errors no \
            --target-processes application-only --launch-timeout 0 "./$program" $arguments >"$OUT/$name.log" 2>&1
        status=$?
        # a program that asks for nothing but the CPU
        if [ $status -eq 255 ] && grep -q 'before first instrumented API call' "$OUT/$name.log"; then
            echo "unused  $tool $program"
            continue
        fi
        if [ $status -eq 0 ]; then
            passed=$((passed + 1))
            echo "ok      $tool $program: $(grep -c '' "$OUT/$name.log") lines, $(grep 'ERROR SUMMARY\|RACECHECK SUMMARY' "$OUT/$name.log" | tail -1)"
        else
            failed=$((failed + 1))
            echo "FAILED  $tool $program: $status"
            grep '=====' "$OUT/$name.log" | head -30 | sed 's/^/        /'
        fi
    done <tests.list
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
