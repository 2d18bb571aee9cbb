#!/usr/bin/env bash
# What linux/386 computes, which an amd64 runs: the demo has the same bytes as here, and
# exactness is tested.
# reads: go:cmd/prepare-data internal/dev/checks/samedemo.sh internal/dev/checks/exact.sh
# reads: test:internal/portable test:internal/pyrandom test:internal/utf8scan test:records/... test:extract/bzip2 test:extract/wiki/wikitext test:tokenize/... test:sharding test:trainer/dropout test:trainer/cpu/...
set -euo pipefail
export CGO_ENABLED=0 GOARCH=386
go build -trimpath -o bin/linux-386/ ./cmd/prepare-data
GOARCH='' internal/dev/checks/samedemo.sh bin/linux-386/prepare-data
internal/dev/checks/exact.sh
