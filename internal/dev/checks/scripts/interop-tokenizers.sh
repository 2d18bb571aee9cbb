#!/usr/bin/env bash
# Tokenizers of every kind, trained by Hugging Face's library: the same ids and words.
# And those that prepare-data trains beside those of its trainers; AutoTokenizer of
# transformers 4.48, 4.57 and the newest loads them, and data sets of every format.
# reads: go:cmd/prepare-data go:internal/dev/interop/encoding data:golden/tokenization.jsonl.gz
# reads: env:peers env:transformers env:transformers-4.48 env:transformers-4.57
# reads: internal/dev/interop/check_encoding.py internal/dev/interop/check_training.py internal/dev/interop/check_autotokenizer.py
set -euo pipefail
peers=$(internal/dev/checks/env.sh peers)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$peers" internal/dev/interop/check_encoding.py "$dir" --strings 500 --every 499 --text "${PRETEXT_DATA:-../shared/data}/golden/tokenization.jsonl.gz"
go run ./internal/dev/interop/encoding "$dir"
go build -o "$dir/prepare-data" ./cmd/prepare-data
"$peers" internal/dev/interop/check_training.py "$dir/prepare-data" "$dir/training"

# Data sets: vocabularies with case and without, the trained tokenizers, and those of the library.
cd "$dir"
make() { ./prepare-data "$@" --quiet >/dev/null; }
make demo --out demo
make vocab demo/documents --do-lower-case=false --vocab-size 3000 --out cased
make examples demo/documents --vocab cased/vocab.txt --out shards-cased
make examples demo/documents --tokenizer training/bpe/tokenizer.json --recipe packed --out shards-bpe
make convert shards-bpe --to mds --out mds-bpe
make convert shards-cased --to parquet --out parquet-cased
folders=(training/bpe training/unigram demo/vocab demo/shards cased shards-cased shards-bpe mds-bpe parquet-cased)
for format in mds parquet npy webdataset hdf5 lddl; do
	make convert demo/shards --to $format --out $format
	if [ -d $format/train ]; then folders+=($format/train $format/eval); else folders+=($format); fi
done
for kind in bpe-*.json unigram-*.json wordpiece-*.json; do
	make examples demo/documents --tokenizer "$kind" --recipe tokens --shards 1 --out "of-${kind%.json}"
	folders+=("of-${kind%.json}")
done
make convert of-bpe-llama2 --to megatron --out megatron
for folder in "${folders[@]}" megatron; do ./prepare-data verify "$folder" >/dev/null; done
cd - >/dev/null
for version in transformers-4.48 transformers-4.57 transformers; do
	python=$(internal/dev/checks/env.sh $version)
	(cd "$dir" && "$python" "$OLDPWD/internal/dev/interop/check_autotokenizer.py" ./prepare-data "${folders[@]}" megatron 2>&1 | grep -v PyTorch)
done
