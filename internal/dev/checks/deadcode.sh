#!/usr/bin/env bash
# Lists the functions that no program of cmd/ can reach, except those that
# internal/dev/checks/deadcode.txt allows, and the entries there that are reached or gone by
# now. Prints nothing and succeeds where there are none.
set -euo pipefail
cd "$(dirname "$0")/../../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

format='{{$p := .Path}}{{range .Funcs}}{{printf "%s.%s %s\n" $p .Name .Position}}{{end}}'
go run golang.org/x/tools/cmd/deadcode@v0.52.0 -tags cluster -f="$format" ./cmd/... >"$scratch/found"
awk '
	FNR == NR && NF && $1 !~ /^#/ {
		if (NF < 2) { print FILENAME ": " $1 ": no reason is given"; bad = 1 }
		allowed[$1] = 0
	}
	FNR == NR { next }
	{
		package = $1
		sub(/\.[^\/]*$/, ".*", package)
		if ($1 in allowed) allowed[$1]++
		else if (package in allowed) allowed[package]++
		else { print $2 ": no program reaches " $1 ": delete it, or allow it in internal/dev/checks/deadcode.txt"; bad = 1 }
	}
	END {
		for (name in allowed) if (!allowed[name]) { print "internal/dev/checks/deadcode.txt: " name " is reached or gone: take it off the list"; bad = 1 }
		exit bad
	}
' internal/dev/checks/deadcode.txt "$scratch/found"
