#!/usr/bin/env bash
# Trainer of transformers 4.48, 4.57 and the newest takes data sets of ours as they are: ten
# steps have the losses of train-bert.
# reads: go:cmd/prepare-data go:cmd/train-bert internal/dev/interop/check_hftrainer.py internal/dev/interop/without_cuda.py
# reads: internal/dev/interop/check_model.py env:torch env:hf-trainer env:transformers-4.48 env:transformers-4.57
set -euo pipefail
torch=$(internal/dev/checks/env.sh torch)
trainer=$(internal/dev/checks/env.sh hf-trainer)
"$trainer" internal/dev/interop/without_cuda.py
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/" ./cmd/prepare-data ./cmd/train-bert
prepare() { "$dir/prepare-data" "$@" --quiet >/dev/null; }
prepare demo --out "$dir/demo"
"$torch" internal/dev/interop/check_model.py make "$dir/model" --vocab "$dir/demo/shards/vocab.txt" --no-dropout --range 0.02

# make NAME EXAMPLES... -- TRAIN...: a small data set, whose train split makes one batch, and ten steps on it.
make() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1") && shift; done
	shift
	prepare examples "$dir/demo/documents" --vocab "$dir/demo/shards/vocab.txt" --shards 2 --max-seq-length 64 --eval-fraction 0.9 "${options[@]}" --out "$dir/$name"
	"$dir/prepare-data" head "$dir/$name" --json -n 0 >"$dir/$name.jsonl"
	prepare convert "$dir/$name" --to parquet --out "$dir/$name-hf"
	"$dir/train-bert" train --data "$dir/$name" --init "$dir/model" --out "$dir/run-$name" --train-batch-size "$(grep -c '/train-' "$dir/$name.jsonl")" \
		--num-train-steps 10 --num-warmup-steps 0 --learning-rate 3e-3 --set bias-correction=true "$@" --quiet >/dev/null
}
make pieces --recipe pieces -- --no-nsp --masked-lm-prob 0.9999 --set mask-token-prob=1 --set random-token-prob=0
for version in transformers-4.48 transformers-4.57 hf-trainer; do
	packages=$("$(internal/dev/checks/env.sh $version)" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
	PYTHONPATH=$packages "$trainer" internal/dev/interop/check_hftrainer.py unmasked "$dir/pieces-hf" "$dir/pieces.jsonl" "$dir/model" "$dir/run-pieces/metrics.jsonl" 2>&1 | grep -vE "^\{|Warn|Loading weights"
done
