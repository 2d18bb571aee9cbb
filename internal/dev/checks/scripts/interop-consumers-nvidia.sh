#!/usr/bin/env bash
# The loaders of Megatron-LM, Google's run_pretraining.py and the Model Garden read what
# is made for them; ten steps in TensorFlow have the losses of train-bert.
# reads: go:cmd/prepare-data go:cmd/train-bert internal/dev/interop/check_megatron.py internal/dev/interop/check_tensorflow.py
# reads: internal/dev/interop/check_model.py env:nvidia env:tensorflow
set -euo pipefail
nvidia=$(internal/dev/checks/env.sh nvidia)
tensorflow=$(internal/dev/checks/env.sh tensorflow)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/" ./cmd/prepare-data ./cmd/train-bert
prepare() { "$dir/prepare-data" "$@" --quiet >/dev/null; }
prepare demo --out "$dir/demo"
examples() { prepare examples "$dir/demo/documents" --vocab "$dir/demo/shards/vocab.txt" --shards 2 "$@"; }

examples --recipe sentences --eval-fraction 0.1 --format megatron --out "$dir/sentences"
"$dir/prepare-data" head "$dir/sentences" --json -n 0 >"$dir/sentences.jsonl"
"$nvidia" internal/dev/interop/check_megatron.py "$dir/sentences/megatron" "$dir/sentences.jsonl"

# All examples of the train split make one batch, so that it has no order.
examples --dupe-factor 1 --max-seq-length 64 --max-predictions-per-seq 10 --eval-fraction 0.9 --out "$dir/batch"
"$dir/prepare-data" head "$dir/batch" --json -n 0 >"$dir/batch.jsonl"
"$nvidia" internal/dev/interop/check_model.py make "$dir/model" --vocab "$dir/demo/shards/vocab.txt" --no-dropout --range 0.02
"$dir/train-bert" train --data "$dir/batch" --init "$dir/model" --out "$dir/run" --train-batch-size "$(grep -c '/train-' "$dir/batch.jsonl")" \
	--num-train-steps 10 --num-warmup-steps 0 --learning-rate 3e-3 --quiet >/dev/null
TF_CPP_MIN_LOG_LEVEL=3 "$tensorflow" internal/dev/interop/check_tensorflow.py "$dir/batch" "$dir/batch.jsonl" "$dir/model" "$dir/run/metrics.jsonl"
