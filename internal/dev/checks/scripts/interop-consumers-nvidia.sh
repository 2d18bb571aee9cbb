#!/usr/bin/env bash
# The loaders of LDDL, Megatron-LM, Google's run_pretraining.py and the Model Garden, and
# the rules of NVIDIA's for HDF5, read what is made for them; ten steps in TensorFlow have
# the losses of train-bert; the commands of the pages in docs/for work as they stand there.
# reads: go:cmd/prepare-data go:cmd/train-bert internal/dev/interop/check_megatron.py internal/dev/interop/check_tensorflow.py
# reads: internal/dev/interop/check_model.py internal/dev/interop/check_nvidia.py internal/dev/interop/run_page.py env:nvidia env:tensorflow
# reads: internal/dev/checks/page.sh docs/for/lddl.md docs/for/levanter.md docs/for/megatron-bert.md docs/for/nvidia-bert.md docs/for/tensorflow.md
set -euo pipefail
nvidia=$(internal/dev/checks/env.sh nvidia)
tensorflow=$(internal/dev/checks/env.sh tensorflow)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/" ./cmd/prepare-data ./cmd/train-bert
prepare() { "$dir/prepare-data" "$@" --quiet >/dev/null; }
prepare demo --out "$dir/demo"
"$dir/prepare-data" head "$dir/demo" --json -n 0 >"$dir/demo.jsonl"
examples() { prepare examples "$dir/demo/documents" --vocab "$dir/demo/shards/vocab.txt" --shards 2 "$@"; }

for consumer in lddl nvidia-bert; do
	prepare convert "$dir/demo" --for $consumer --out "$dir/$consumer"
	"$nvidia" internal/dev/interop/check_nvidia.py $consumer "$dir/$consumer" "$dir/demo.jsonl"
done
# Files of a shard each are refused by LDDL, so this way the check above fails too.
prepare convert "$dir/demo" --to lddl --out "$dir/unbalanced"
if "$nvidia" internal/dev/interop/check_nvidia.py lddl "$dir/unbalanced" "$dir/demo.jsonl" 2>"$dir/refused.txt" || ! grep -q '^AssertionError$' "$dir/refused.txt"; then
	echo "LDDL did not refuse files that are not balanced"
	exit 1
fi

examples --for megatron-bert --eval-fraction 0.1 --out "$dir/sentences"
"$dir/prepare-data" head "$dir/sentences" --json -n 0 >"$dir/sentences.jsonl"
"$nvidia" internal/dev/interop/check_megatron.py "$dir/sentences/megatron-bert" "$dir/sentences.jsonl"

# All examples of the train split make one batch, so that it has no order.
examples --for tensorflow --dupe-factor 1 --max-seq-length 64 --max-predictions-per-seq 10 --eval-fraction 0.9 --out "$dir/batch"
"$dir/prepare-data" head "$dir/batch" --json -n 0 >"$dir/batch.jsonl"
"$nvidia" internal/dev/interop/check_model.py make "$dir/model" --vocab "$dir/demo/shards/vocab.txt" --no-dropout --range 0.02
"$dir/train-bert" train --data "$dir/batch" --init "$dir/model" --out "$dir/run" --train-batch-size "$(grep -c '/train-' "$dir/batch.jsonl")" \
	--num-train-steps 10 --num-warmup-steps 0 --learning-rate 3e-3 --quiet >/dev/null
export TF_CPP_MIN_LOG_LEVEL=3
"$tensorflow" internal/dev/interop/check_tensorflow.py "$dir/batch" "$dir/batch.jsonl" "$dir/model" "$dir/run/metrics.jsonl"

root=$PWD
for consumer in lddl levanter nvidia-bert megatron-bert tensorflow; do
	page=$root/docs/for/$consumer.md
	mkdir "$dir/$consumer-page" && cd "$dir/$consumer-page"
	cp "$dir"/demo/sources/*.xml.bz2 enwiki-latest-pages-articles.xml.bz2
	"$root/internal/dev/checks/page.sh" "$page" >commands.sh
	grep -q -- "^prepare-data run .* --for $consumer " commands.sh
	PATH="$dir:$PATH" bash -euo pipefail commands.sh >out.txt 2>err.txt || { tail -5 err.txt; exit 1; }
	python=$nvidia
	if [ $consumer = tensorflow ]; then python=$tensorflow; fi
	"$python" "$root/internal/dev/interop/run_page.py" "$page"
	cd "$root"
done
