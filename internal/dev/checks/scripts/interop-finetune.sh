#!/usr/bin/env bash
# transformers loads what finetune leaves, finetune what transformers saves, and both
# compute the same numbers.
# reads: go:cmd/train-bert internal/dev/interop/check_finetuned.py internal/dev/interop/finetune env:torch
set -euo pipefail
torch=$(internal/dev/checks/env.sh torch)
check="$torch internal/dev/interop/check_finetuned.py"
given=internal/dev/interop/finetune
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/" ./cmd/train-bert
finetune() { "$dir/train-bert" finetune "$@" --quiet; }
new=(--model $given/config.json --vocab-file $given/vocab.txt --num-train-steps 30 --learning-rate 5e-3)
$check make "$dir/theirs" $given/vocab.txt
finetune classify "${new[@]}" --task mrpc --data-dir $given/pairs --out "$dir/pairs"
$check classify "$dir/pairs" $given/pairs/test.tsv
mkdir "$dir/tests" && cp $given/pairs/test.tsv "$dir/tests"
finetune classify --init "$dir/theirs/classify" --task mrpc --data-dir "$dir/tests" --out "$dir/their-pairs"
$check classify "$dir/their-pairs" $given/pairs/test.tsv "$dir/theirs/classify"
finetune squad "${new[@]}" --train-file $given/questions.json --predict-file $given/questions.json --max-seq-length 128 --out "$dir/questions"
$check squad "$dir/questions" $given/questions.json
finetune squad --init "$dir/theirs/squad" --predict-file $given/questions.json --max-seq-length 128 --out "$dir/their-questions"
$check squad "$dir/their-questions" $given/questions.json "$dir/theirs/squad"
