#!/usr/bin/env bash
# The whole of what make gpu-pack measures, on the simulator, in small sizes.
# reads: go:cmd/train-bert go:cmd/prepare-data go:internal/dev/gpubench test:trainer/cuda/kernels test:trainer/cuda/driver internal/dev/gpubench Makefile
set -euo pipefail
make gpu-pack
go vet -tags gpu ./trainer/cuda/...
rm -rf bin/gpu-rehearsal
bin/gpu-pack/run.sh -d sim -o bin/gpu-rehearsal
