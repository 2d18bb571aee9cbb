#!/usr/bin/env bash
# The tests that compile programs, whose names contain "Built": static ones that run
# with nothing around them, and programs outside of this module. With empty caches that
# takes minutes.
# reads: test:cmd/prepare-data test:cmd/train-bert test:internal/dev/libraryprogram docs/own-stage.md
set -euo pipefail
PRETEXT_BUILDS=1 go test -count=1 -timeout 30m -run Built ./cmd/prepare-data ./cmd/train-bert ./internal/dev/libraryprogram
