#!/usr/bin/env bash
# The whole of what make gpu-pack checks and measures, on the simulator, in small sizes;
# and truth with planted faults, each of which it must name.
# reads: go:cmd/train-bert go:cmd/prepare-data test:internal/dev/gpubench test:trainer/cuda/kernels test:trainer/cuda/driver Makefile env:torch
set -euo pipefail
make gpu-pack
go vet -tags gpu ./trainer/cuda/...
rm -rf bin/gpu-rehearsal
PATH=$(dirname "$(internal/dev/checks/env.sh torch)"):$PATH bin/gpu-pack/run.sh -d sim -o bin/gpu-rehearsal
PRETEXT_FULL=1 go test ./internal/dev/gpubench
