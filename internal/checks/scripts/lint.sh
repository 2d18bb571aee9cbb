#!/usr/bin/env bash
# Formatting, vet, staticcheck, and functions that no program reaches.
# reads: test:... go:... internal/checks/deadcode.sh internal/checks/deadcode.txt
set -euo pipefail
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "gofmt would change: $unformatted"; exit 1; }
for tags in '' cluster; do
	go vet -tags "$tags" ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 -tags "$tags" ./...
done
internal/checks/deadcode.sh
