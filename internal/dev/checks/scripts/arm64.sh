#!/usr/bin/env bash
# What linux/arm64 computes, on the emulator qemu-user: the demo has the same bytes as
# here, no last bit of the data path depends on the processor, exactness is tested, with
# NEON and with plain code, and the demo takes no more than 1.3 times amd64's instructions.
# reads: go:cmd/prepare-data go:internal/dev/instructions internal/dev/instructions/plugin/plugin.c internal/dev/checks/fused.sh internal/dev/checks/samedemo.sh internal/dev/checks/exact.sh
# reads: test:internal/portable test:internal/pyrandom test:internal/utf8scan test:records/... test:extract/bzip2 test:extract/wiki/wikitext test:tokenize/... test:sharding test:trainer/dropout test:trainer/cpu/...
set -euo pipefail
command -v qemu-aarch64 >/dev/null || { echo "qemu-aarch64 is needed: apt-get install qemu-user"; exit 1; }
export CGO_ENABLED=0 GOARCH=arm64
go build -trimpath -o bin/linux-arm64/ ./cmd/prepare-data
internal/dev/checks/fused.sh bin/linux-arm64/prepare-data
GOARCH='' internal/dev/checks/samedemo.sh qemu-aarch64 bin/linux-arm64/prepare-data
internal/dev/checks/exact.sh -exec qemu-aarch64
GOARCH='' go run ./internal/dev/instructions
