#!/usr/bin/env bash
# The committed PTX is what the pinned NVRTC writes, and a newer one makes machine code
# of it for two chips without a stack or spilled registers. No GPU is needed.
# reads: trainer/cuda/kernels env:nvrtc env:nvrtc-check
set -euo pipefail
go generate ./trainer/cuda/kernels
git diff --exit-code trainer/cuda/kernels
internal/dev/checks/env.sh nvrtc-check trainer/cuda/kernels/nvrtc.py check auto
