#!/usr/bin/env bash
# The tests of the CUDA backend in all types, sizes, orders and numbers of ranks; every
# listed mutant of the kernels; generated ones of every source line, for two minutes of
# CPU, and all of those that are explained as none, which no test may notice; generated
# mutants of what the host launches, multiplies, copies, clears and waits for, for one
# minute; 20 choices of roundings (about two minutes of CPU in all). A plain go test runs
# one case of each promise.
# reads: test:trainer/cuda/...
set -euo pipefail
PRETEXT_FULL=1 go test -timeout 30m ./trainer/cuda/...
