#!/usr/bin/env bash
# ModernBERT: from a dump to a model in two commands, with which transformers 4.48, 4.57 and the
# newest fill a mask. They load our models, we load those that they save, and all compute the same.
# reads: go:cmd/prepare-data go:cmd/train-bert internal/dev/interop/check_modern.py internal/dev/interop/without_cuda.py
# reads: internal/dev/interop/finetune env:hf-trainer env:transformers-4.48 env:transformers-4.57
set -euo pipefail
newest=$(internal/dev/checks/env.sh hf-trainer)
"$newest" internal/dev/interop/without_cuda.py
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/" ./cmd/prepare-data ./cmd/train-bert
export PATH=$dir:$PATH
given=$PWD/internal/dev/interop/finetune
check=$PWD/internal/dev/interop/check_modern.py
purelib() { "$(internal/dev/checks/env.sh "$1")" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
four48=$(purelib transformers-4.48) four57=$(purelib transformers-4.57)
# python PATH COMMAND...: with the version of transformers below PATH, or the newest.
python() { PYTHONPATH=$1 "$newest" "$check" "${@:2}" 2>&1 | { grep -vE 'Warn|warn|^W[0-9]|Device set|Loading weights' || true; }; }
cd "$dir"

# From a dump in two commands.
prepare-data demo --out demo --quiet >/dev/null
prepare-data run --wiki-dump demo/sources/*.bz2 --recipe packed --max-seq-length 256 --vocab-size 800 --out data --quiet >/dev/null
train-bert train --data data --model modern-tiny --num-train-steps 20 --train-batch-size 8 --learning-rate 1e-3 --out tiny --quiet >/dev/null
train-bert export tiny --out ours/tiny >/dev/null
vocab=ours/tiny/vocab.txt
python "" texts $vocab texts

# Other models of ours: another window, other bases, and large weights.
config() { sed "s/\"vocab_size\": 0/\"vocab_size\": $(wc -l <"$1")/" <<<"$2"; }
shape='"model_type": "modernbert", "vocab_size": 0, "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 80, "max_position_embeddings": 512, "initializer_range": 0.1'
config $vocab "{$shape, \"local_attention\": 48, \"global_rope_theta\": 80000, \"local_rope_theta\": 5000, \"attention_dropout\": 0.1, \"mlp_dropout\": 0.1}" >wide.json
config $vocab "{$shape, \"local_attention\": 33, \"layer_types\": [\"sliding_attention\", \"full_attention\", \"sliding_attention\", \"sliding_attention\"]}" >pattern.json
for name in wide pattern; do
	train-bert train --data data --model $name.json --num-train-steps 4 --num-warmup-steps 0 --train-batch-size 4 --learning-rate 1e-2 --out $name --quiet >/dev/null
	train-bert export $name --out ours/$name >/dev/null 2>$name.log
done
test ! -s wide.log
grep -q '^warning: .*transformers 5' pattern.log
answer() { train-bert predict "$1" --top-k "$(wc -l <$vocab)" <texts >"$1.answers"; }
for name in tiny wide pattern; do answer ours/$name; done

# Heads of ours.
finetune() { train-bert finetune "$@" --quiet >/dev/null; }
for pooling in cls mean; do
	config "$given/vocab.txt" "{$shape, \"local_attention\": 6, \"classifier_pooling\": \"$pooling\"}" >$pooling.json
done
new=(--vocab-file "$given/vocab.txt" --num-train-steps 30 --learning-rate 5e-3)
mkdir scores
columns='"index", "genre", "filename", "year", "old_index", "source1", "source2", "sentence1", "sentence2"'
awk -F'\t' -v OFS='\t' "NR == 1 {print $columns, \"score\"; next} {print NR - 2, \"g\", \"f\", \"y\", \"0\", \"s\", \"s\", \$4, \$5, 5 * \$1}" "$given/pairs/train.tsv" >scores/train.tsv
awk -F'\t' -v OFS='\t' "NR == 1 {print $columns; next} {print NR - 2, \"g\", \"f\", \"y\", \"0\", \"s\", \"s\", \$4, \$5}" "$given/pairs/test.tsv" >scores/test.tsv
finetune classify --model cls.json "${new[@]}" --task mrpc --data-dir "$given/pairs" --out heads/cls
finetune classify --model mean.json "${new[@]}" --task mrpc --data-dir "$given/pairs" --out heads/mean
finetune classify --model mean.json "${new[@]}" --task sts-b --data-dir scores --out heads/score
questions=(--predict-file "$given/questions.json" --max-seq-length 128)
finetune squad --model cls.json "${new[@]}" --train-file "$given/questions.json" "${questions[@]}" --out heads/questions
for name in cls mean; do cp "$given/pairs/test.tsv" heads/$name; done
cp scores/test.tsv heads/score
cp "$given/questions.json" heads/questions

# Every version computes these, and saves models of its own.
for path in "$four48" "$four57" ""; do
	python "$path" filled texts ours/tiny ours/wide -- pattern texts ours/pattern -- heads heads/* -- make theirs ours/tiny
done
models=(theirs/*)
test ${#models[@]} = 20 # 4.48 has no question answering

# Models of theirs: imported, exported and computed by us.
for folder in "${models[@]}"; do
	name=${folder#theirs/}
	train-bert import "$folder" --out "copies/$name" >/dev/null 2>&1
	test=pairs task=mrpc
	if [[ $name = *-score ]]; then test=scores task=sts-b; fi
	case $name in
	*-masked | *-odd) answer "$folder" ;;
	*-classes | *-mean | *-score)
		mkdir -p only/$test
		cp "$([ $test = scores ] && echo scores || echo "$given/pairs")/test.tsv" only/$test
		finetune classify --init "$folder" --task $task --data-dir only/$test --out "their-heads/$name"
		cp only/$test/test.tsv "their-heads/$name"
		;;
	*-questions)
		finetune squad --init "$folder" "${questions[@]}" --out "their-heads/$name"
		cp "$given/questions.json" "their-heads/$name"
		;;
	esac
	if [ -d "their-heads/$name" ]; then echo -n "$folder" >"their-heads/$name/model"; fi
done
python "" equal copies "${models[@]}" -- filled texts theirs/*-masked theirs/*-odd -- heads their-heads/*
