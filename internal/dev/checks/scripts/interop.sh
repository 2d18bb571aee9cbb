#!/usr/bin/env bash
# Real readers read what the demo makes: TensorFlow, pyarrow, datasets.
# reads: go:cmd/prepare-data internal/dev/interop/read_shards.py internal/dev/interop/check_card.py internal/dev/interop/parquet_rows.py
# reads: env:tensorflow
set -euo pipefail
python=$(internal/dev/checks/env.sh tensorflow)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/prepare-data" ./cmd/prepare-data
"$dir/prepare-data" demo --out "$dir/demo" --quiet
"$dir/prepare-data" head "$dir/demo/shards" --json -n 0 >"$dir/records.jsonl"
"$python" internal/dev/interop/read_shards.py "$dir/demo/shards" "$dir/records.jsonl"
"$python" internal/dev/interop/check_card.py "$dir/prepare-data" "$dir/demo" "$dir/cards"
"$python" internal/dev/interop/parquet_rows.py "$dir/prepare-data" "$dir/parquet"
