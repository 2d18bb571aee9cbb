#!/usr/bin/env bash
# The constants, types and prototypes that trainer/cuda/driver declares are those of
# NVIDIA's headers. They come in the packages of the libraries: 610 MB to download,
# half a minute.
# reads: trainer/cuda/driver env:cuda-headers
set -euo pipefail
python=$(internal/dev/checks/env.sh cuda-headers)
nvidia=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/nvidia
find "$nvidia" -type f -not -path '*/include/*' -delete # gigabytes of libraries
include=()
for part in cuda_runtime cublas nccl cuda_nvcc cuda_cccl; do include+=("-I$nvidia/$part/include"); done
gcc -fsyntax-only -Wall "${include[@]}" trainer/cuda/driver/headers/check.c
