#!/usr/bin/env bash
# Trainer of transformers 4.48, 4.57 and the newest takes data sets of ours as they are: ten
# steps have the losses of train-bert. The commands of docs/for/hf-trainer.md run.
# reads: go:cmd/prepare-data go:cmd/train-bert internal/dev/interop/check_hftrainer.py internal/dev/interop/without_cuda.py
# reads: internal/dev/checks/page.sh internal/dev/interop/check_model.py docs/for/hf-trainer.md env:torch env:hf-trainer env:transformers-4.48 env:transformers-4.57
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
	prepare convert "$dir/$name" --for hf-trainer --out "$dir/$name-hf"
	"$dir/prepare-data" verify "$dir/$name-hf" >/dev/null
	"$dir/train-bert" train --data "$dir/$name" --init "$dir/model" --out "$dir/run-$name" --train-batch-size "$(grep -c '/train-' "$dir/$name.jsonl")" \
		--num-train-steps 10 --num-warmup-steps 0 --learning-rate 3e-3 --set bias-correction=true "$@" --quiet >/dev/null
}
make pieces --recipe pieces -- --no-nsp --masked-lm-prob 0.9999 --set mask-token-prob=1 --set random-token-prob=0
make mlm --recipe mlm --dupe-factor 1 --max-predictions-per-seq 10 -- --no-nsp
make google --recipe google --dupe-factor 1 --max-predictions-per-seq 10 --
check() { "$trainer" internal/dev/interop/check_hftrainer.py "$1" "$dir/$2-hf" "$dir/$2.jsonl" "$dir/model" "$dir/run-$2/metrics.jsonl" 2>&1 | grep -vE "^\{|Warn|Loading weights"; }
for version in transformers-4.48 transformers-4.57 hf-trainer; do
	PYTHONPATH=$("$(internal/dev/checks/env.sh $version)" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
	export PYTHONPATH
	check unmasked pieces
	check masked google
done
check masked mlm

# The page, with the demo's dump, a small model and two steps.
blocks() { awk -v start="\`\`\`$1" -v n="$2" '$0 == "```" {on = 0} on && at == n {print} $0 == start {on = 1; at++}' docs/for/hf-trainer.md; }
mkdir "$dir/page"
small='hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64'
n=0
while [ -n "$(blocks sh $((n + 1)))" ]; do
	n=$((n + 1))
	program=$(blocks sh $n | awk '$1 == "python" {print $2}')
	blocks python $n | sed -E "s/max_steps=100000/max_steps=2, use_cpu=True, report_to=[], save_strategy=\"no\"/; /^model = /s/\)\)$/, $small))/" >"$dir/page/$program"
	grep -q num_hidden_layers "$dir/page/$program"
	dump=$(echo "$dir"/demo/sources/*.bz2)
	blocks sh $n | sed "s#DUMP#$dump --vocab-size 2000#; s#^prepare-data#$dir/prepare-data#; s#^python#$trainer#" >"$dir/page/commands.sh"
	(cd "$dir/page" && HF_HUB_OFFLINE=1 HF_HOME=$dir/home bash -euo pipefail commands.sh >out.txt 2>&1) || { tail -5 "$dir/page/out.txt"; exit 1; }
	grep -o "'train_loss[^}]*" "$dir/page/out.txt"
done
# The loop has run every command.
[ "$(for ((i = 1; i <= n; i++)); do blocks sh $i; done)" = "$(internal/dev/checks/page.sh docs/for/hf-trainer.md)" ]
