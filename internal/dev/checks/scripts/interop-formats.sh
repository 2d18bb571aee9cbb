#!/usr/bin/env bash
# The libraries that read the formats of convert find the values of the shards, of
# every recipe in every format that holds it.
# reads: go:cmd/prepare-data internal/dev/interop/read_converted.py env:torch env:tensorflow
set -euo pipefail
torch=$(internal/dev/checks/env.sh torch)
tensorflow=$(internal/dev/checks/env.sh tensorflow)
read=internal/dev/interop/read_converted.py
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/" ./cmd/prepare-data
"$dir/prepare-data" demo --out "$dir/demo" --quiet
mv "$dir/demo/shards" "$dir/google"
for recipe in mlm tokens packed pieces sentences; do
	"$dir/prepare-data" examples "$dir/demo/documents" --vocab "$dir/google/vocab.txt" --recipe $recipe --eval-fraction 0.1 --shards 2 --out "$dir/$recipe" --quiet
done
for recipe in google mlm tokens packed pieces sentences; do
	case $recipe in google) more="hdf5 lddl" ;; tokens | sentences) more=megatron ;; *) more= ;; esac
	"$dir/prepare-data" head "$dir/$recipe" --json -n 0 >"$dir/$recipe.jsonl"
	"$tensorflow" $read tfrecord "$dir/$recipe" "$dir/$recipe.jsonl"
	for format in mds npy parquet webdataset $more; do
		case $format in hdf5 | lddl | parquet) python=$tensorflow ;; *) python=$torch ;; esac
		"$dir/prepare-data" convert "$dir/$recipe" --to $format --out "$dir/$recipe-$format" --quiet
		"$python" $read $format "$dir/$recipe-$format" "$dir/$recipe.jsonl"
	done
done
"$dir/prepare-data" examples "$dir/demo/documents" --vocab "$dir/google/vocab.txt" --dupe-factor 45 --eval-fraction 0 --shards 1 --out "$dir/large" --quiet
for format in hdf5 npy; do
	"$dir/prepare-data" convert "$dir/large" --to $format --out "$dir/large-$format" --quiet
done
"$tensorflow" $read same "$dir/large-hdf5" "$dir/large-npy"
