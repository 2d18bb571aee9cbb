#!/usr/bin/env bash
# transformers loads a model of ours and we load one of its: the same losses. And
# it loads the tokenizer.json that a model of ours has: the same ids.
# reads: go:cmd/prepare-data go:cmd/train-bert internal/dev/interop/check_model.py internal/dev/interop/check_tokenizer.py env:torch
set -euo pipefail
torch=$(internal/dev/checks/env.sh torch)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/" ./cmd/prepare-data ./cmd/train-bert
"$dir/prepare-data" demo --out "$dir/demo" --quiet
"$dir/prepare-data" head "$dir/demo/shards" --json -n 0 >"$dir/records.jsonl"
"$dir/train-bert" train --data "$dir/demo" --out "$dir/run" --model tiny --num-train-steps 4 --num-warmup-steps 0 --train-batch-size 8 --learning-rate 1e-3 --quiet
"$dir/train-bert" export "$dir/run" --out "$dir/ours"
"$torch" internal/dev/interop/check_model.py make "$dir/theirs" --vocab "$dir/demo/shards/vocab.txt"
for model in ours theirs; do
	"$dir/train-bert" eval "$dir/$model" --data "$dir/demo" --eval-examples 0 --json >"$dir/$model.json"
	"$torch" internal/dev/interop/check_model.py compare "$dir/$model" "$dir/$model.json" "$dir/records.jsonl"
done
"$torch" internal/dev/interop/check_tokenizer.py make "$dir/tokenizers"
for kind in bpe wordpiece; do
	"$dir/prepare-data" examples "$dir/demo/documents" --tokenizer "$dir/tokenizers/$kind.json" --max-seq-length 64 --out "$dir/$kind" --quiet
	"$dir/train-bert" train --data "$dir/$kind" --out "$dir/$kind-run" --model tiny --num-train-steps 2 --train-batch-size 8 --quiet
	"$dir/train-bert" export "$dir/$kind-run" --out "$dir/$kind-model"
	"$dir/prepare-data" tokenize --tokenizer "$dir/tokenizers/$kind.json" --jsonl <"$dir/tokenizers/lines.jsonl" >"$dir/$kind.ids"
	"$torch" internal/dev/interop/check_tokenizer.py compare "$dir/$kind-model" "$dir/$kind.ids"
done
