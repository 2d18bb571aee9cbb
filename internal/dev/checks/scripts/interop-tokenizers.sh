#!/usr/bin/env bash
# Tokenizers of every kind, trained by Hugging Face's library: the same ids and words.
# And those that prepare-data trains beside those of its trainers; AutoTokenizer of
# the newest transformers loads them.
# reads: go:cmd/prepare-data go:internal/dev/interop/encoding data:golden/tokenization.jsonl.gz env:peers env:transformers
# reads: internal/dev/interop/check_encoding.py internal/dev/interop/check_training.py internal/dev/interop/check_autotokenizer.py
set -euo pipefail
peers=$(internal/dev/checks/env.sh peers)
newest=$(internal/dev/checks/env.sh transformers)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$peers" internal/dev/interop/check_encoding.py "$dir" --strings 500 --every 499 --text "${PRETEXT_DATA:-../shared/data}/golden/tokenization.jsonl.gz"
go run ./internal/dev/interop/encoding "$dir"
go build -o "$dir/prepare-data" ./cmd/prepare-data
"$peers" internal/dev/interop/check_training.py "$dir/prepare-data" "$dir/training"
"$newest" internal/dev/interop/check_autotokenizer.py "$dir/prepare-data" "$dir/training/bpe" "$dir/training/unigram"
