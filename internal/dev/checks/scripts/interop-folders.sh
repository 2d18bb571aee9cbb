#!/usr/bin/env bash
# Folders of every form that transformers 4 and 5 save, and ours that they save
# again: the predictions are those of transformers.
# reads: go:cmd/train-bert internal/dev/interop/check_folders.py env:torch env:transformers
set -euo pipefail
torch=$(internal/dev/checks/env.sh torch)
newest=$(internal/dev/checks/env.sh transformers)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/train-bert" ./cmd/train-bert
"$torch" internal/dev/interop/check_folders.py make "$dir"
"$torch" internal/dev/interop/check_folders.py import "$dir" "$dir/train-bert"
"$torch" internal/dev/interop/check_folders.py again "$dir"
"$newest" internal/dev/interop/check_folders.py again "$dir"
"$torch" internal/dev/interop/check_folders.py compare "$dir" "$dir/train-bert"
