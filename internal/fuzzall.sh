#!/usr/bin/env bash
# Runs every fuzz target of the module for the time given as $1.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-5s}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed -E 's|^\./(.*)/[^/]+:[0-9]+:func (.*)|\1 \2|' | sort -u |
while read -r pkg target; do
	echo "fuzz $pkg $target"
	go test "./$pkg" -run '^$' -fuzz "^$target\$" -fuzztime "$time" >"$log" 2>&1 && continue
	# At the end of its time the fuzzer may stop with "context deadline exceeded"
	# in the middle of a slow input; a finding names its input.
	if ! grep -q 'context deadline exceeded' "$log" || grep -q 'Failing input' "$log"; then
		cat "$log"
		exit 1
	fi
done
