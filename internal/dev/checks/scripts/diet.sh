#!/usr/bin/env bash
# The number of packages that the README's first command compiles.
# reads: go:cmd/prepare-data docs/decisions/direct-runner.md
set -euo pipefail
packages=$(go list -deps ./cmd/prepare-data | wc -l)
echo "go list -deps ./cmd/prepare-data: $packages packages"
[ "$packages" -le 620 ] || { echo "want at most 620: see docs/decisions/direct-runner.md"; exit 1; }
