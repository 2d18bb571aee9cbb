#!/usr/bin/env bash
# Formatting, vet, staticcheck, and functions that no program reaches.
# reads: test:... go:... internal/dev/checks/deadcode.sh internal/dev/checks/deadcode.txt
set -euo pipefail
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "gofmt would change: $unformatted"; exit 1; }
for tags in '' cluster; do
	go vet -tags "$tags" ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 -tags "$tags" ./...
done
internal/dev/checks/deadcode.sh
