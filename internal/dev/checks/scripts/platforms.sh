#!/usr/bin/env bash
# Both programs and all tests compile for other systems, with the flags of the release,
# whose cache this shares. PLATFORMS=windows/amd64 takes one.
# reads: go:... test:...
set -euo pipefail
for platform in ${PLATFORMS:-linux/arm64 linux/386 darwin/arm64 windows/amd64}; do
	echo "$platform"
	export GOOS=${platform%/*} GOARCH=${platform#*/} CGO_ENABLED=0
	go build -trimpath -o bin/$GOOS-$GOARCH/ ./cmd/prepare-data ./cmd/train-bert
	go vet -trimpath ./...
done
