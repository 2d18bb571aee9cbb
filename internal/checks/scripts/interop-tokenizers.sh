#!/usr/bin/env bash
# Tokenizers of every kind, trained by Hugging Face's library: the same ids and words.
# And those that prepare-data trains beside those of its trainers; AutoTokenizer of
# the newest transformers loads them.
# reads: go:cmd/prepare-data go:internal/interop/encoding data:golden/tokenization.jsonl.gz env:peers env:transformers
# reads: internal/interop/check_encoding.py internal/interop/check_training.py internal/interop/check_autotokenizer.py
set -euo pipefail
peers=$(internal/checks/env.sh peers)
newest=$(internal/checks/env.sh transformers)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$peers" internal/interop/check_encoding.py "$dir" --strings 500 --every 499 --text "${PRETEXT_DATA:-../shared/data}/golden/tokenization.jsonl.gz"
go run ./internal/interop/encoding "$dir"
go build -o "$dir/prepare-data" ./cmd/prepare-data
"$peers" internal/interop/check_training.py "$dir/prepare-data" "$dir/training"
"$newest" internal/interop/check_autotokenizer.py "$dir/prepare-data" "$dir/training/bpe" "$dir/training/unigram"
