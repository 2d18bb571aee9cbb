#!/usr/bin/env bash
# Makes the demo with the program for this machine and with COMMAND, the program for
# another system behind what runs it, and compares all files. Only run.json, which
# has times, may differ.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: internal/dev/checks/samedemo.sh COMMAND..." >&2; exit 2; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
command=()
for word in "$@"; do
	if [ -e "$word" ]; then word=$(realpath "$word"); fi
	command+=("$word")
done
cd "$(dirname "$0")/../../.."
go build -o "$scratch/prepare-data" ./cmd/prepare-data
mkdir "$scratch/here" "$scratch/there"
(cd "$scratch/here" && "$scratch/prepare-data" demo --out demo --quiet >/dev/null)
(cd "$scratch/there" && "${command[@]}" demo --out demo --quiet >/dev/null)
(cd "$scratch/there" && "${command[@]}" verify demo)
diff -rq --exclude=run.json "$scratch/here/demo" "$scratch/there/demo"
echo "$(find "$scratch/there/demo" -type f ! -name run.json | wc -l) files are the same byte for byte: $*"
