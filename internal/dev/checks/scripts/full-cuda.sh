#!/usr/bin/env bash
# The tests of the CUDA backend in all types, sizes, orders and numbers of ranks, and
# every mutant of the kernels; 20 choices of roundings (about 80 seconds of CPU). A plain
# go test runs one case of each promise.
# reads: test:trainer/cuda/...
set -euo pipefail
PRETEXT_FULL=1 go test -timeout 30m ./trainer/cuda/...
