#!/usr/bin/env bash
# The race detector. What is found by numbers, damage and cancelled runs, is left to
# the tests without it.
# reads: test:internal/store test:sharding/... test:pipeline test:trainer test:trainer/loader test:trainer/cpu test:trainer/finetune/predict test:cmd/train-bert/internal/serve
set -euo pipefail
PRETEXT_DAMAGE=50 PRETEXT_SIGNALS=5 go test -race -short ./internal/store ./sharding/... ./pipeline ./trainer ./trainer/loader ./trainer/cpu ./trainer/finetune/predict ./cmd/train-bert/internal/serve
