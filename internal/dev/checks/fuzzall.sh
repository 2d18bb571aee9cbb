#!/usr/bin/env bash
# Runs every fuzz target of the module, or of the packages below $2, for the time
# given as $1: as many at a time as there are processors, each on one of them. A
# finding is printed with its input, and the other targets still run.
set -uo pipefail
cd "$(dirname "$0")/../../.."
export FUZZ_TIME=${1:-5s}
below=${2:-.}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export FUZZ_LOGS=$logs

target() { # PACKAGE FUNCTION
	local log=$FUZZ_LOGS/${1//\//.}.$2
	echo "fuzz $1 $2"
	# Without a limit, go test minimizes an input with new coverage for a minute, in vain if
	# goroutines of the target take turns by chance: FuzzArchive made 6 executions in 15 s.
	go test "./$1" -run '^$' -fuzz "^$2\$" -fuzztime "$FUZZ_TIME" -fuzzminimizetime 100x -parallel 1 >"$log" 2>&1 && return 0
	# At the end of its time the fuzzer may stop with "context deadline exceeded"
	# in the middle of a slow input; a finding names its input.
	grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log" && return 0
	cat "$log"
	local input
	input=$(sed -nE 's/.*Failing input written to (testdata.*)/\1/p' "$log" | head -1)
	if [ -n "$input" ]; then
		echo "the input, $1/$input:"
		cat "$1/$input"
	fi
	return 1
}
export -f target

grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' "$below" | sed -E 's|^(\./)?(.*)/[^/]+:[0-9]+:func (.*)|\2 \3|' | sort -u |
	xargs -P "$(nproc 2>/dev/null || sysctl -n hw.ncpu)" -n 2 bash -c 'target "$@"' _
