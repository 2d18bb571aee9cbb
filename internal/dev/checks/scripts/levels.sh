#!/usr/bin/env bash
# Packages with vector code, as on a processor without AVX-512 and on one without
# vector instructions; go test ./... runs what this processor has.
# reads: machine: test:internal/dev/levels test:extract/bzip2 test:extract/wiki/wikitext test:internal/pyrandom test:internal/sumpair test:internal/utf8scan
# reads: test:tokenize test:records test:records/pretrain test:records/tfrecord
# reads: test:trainer/backendtest test:trainer/cpu test:trainer/cpu/internal/kernel test:trainer/dropout
set -euo pipefail
go run ./internal/dev/levels
