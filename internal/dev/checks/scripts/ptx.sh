#!/usr/bin/env bash
# The committed PTX is what the pinned NVRTC writes, and the pinned ptxas makes machine code
# of it for two chips without a stack or spilled registers, with room on a multiprocessor
# for as many blocks as nvrtc.py lists. No GPU is needed.
# reads: trainer/cuda/kernels env:nvrtc env:ptxas
set -euo pipefail
go generate ./trainer/cuda/kernels
git diff --exit-code trainer/cuda/kernels
internal/dev/checks/env.sh ptxas trainer/cuda/kernels/nvrtc.py check auto
