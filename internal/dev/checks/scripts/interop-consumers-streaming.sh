#!/usr/bin/env bash
# MosaicML streaming and its continuation, and the rules of the data sets of ModernBERT and
# MosaicBERT on top of it, read what is made for them; ten steps through StreamingDataLoader
# with two workers have the losses of train-bert; the commands of the pages in docs/for work
# as they stand there.
# reads: go:cmd/prepare-data go:cmd/train-bert internal/dev/interop/check_streaming.py internal/dev/interop/check_model.py
# reads: internal/dev/checks/page.sh internal/dev/interop/run_page.py docs/for/modernbert.md docs/for/mosaicbert.md docs/for/streaming.md
# reads: env:torch env:streaming-community
set -euo pipefail
torch=$(internal/dev/checks/env.sh torch)
community=$("$(internal/dev/checks/env.sh streaming-community)" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
check=internal/dev/interop/check_streaming.py
export PYTHONWARNINGS=ignore
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/" ./cmd/prepare-data ./cmd/train-bert
prepare() { "$dir/prepare-data" "$@" --quiet >/dev/null; }
prepare demo --out "$dir/demo"

# make NAME OPTION...: shards of the demo's documents, and their records.
make() {
	prepare examples "$dir/demo/documents" --vocab "$dir/demo/shards/vocab.txt" --shards 2 "${@:2}" --out "$dir/$1"
	"$dir/prepare-data" head "$dir/$1" --json -n 0 >"$dir/$1.jsonl"
}
make tokens --recipe tokens --eval-fraction 0.1
make modernbert --for modernbert --max-seq-length 128 --eval-fraction 0.1
make mosaicbert --for mosaicbert --max-seq-length 128 --eval-fraction 0.1
make streaming --for streaming --eval-fraction 0.1
for packages in "" "$community"; do
	for consumer in modernbert mosaicbert streaming; do
		PYTHONPATH=$packages "$torch" $check $consumer "$dir/$consumer/$consumer" "$dir/$consumer.jsonl" "$dir/tokens.jsonl" 2>"$dir/err.txt" || { tail -3 "$dir/err.txt"; exit 1; }
	done
done

# Of narrow integers two ids are taken for one, and with compression ModernBERT's local data
# set finds no file: the check fails.
wrong() {
	if "$torch" $check modernbert "$1" "$dir/modernbert.jsonl" "$dir/tokens.jsonl" >/dev/null 2>"$dir/wrong.txt" || ! grep -q "$2" "$dir/wrong.txt"; then
		tail -3 "$dir/wrong.txt"
		echo "the check takes $1"
		exit 1
	fi
}
prepare convert "$dir/modernbert" --to mds --int int32 --compression none --out "$dir/narrow"
prepare convert "$dir/modernbert" --to mds --int int64 --out "$dir/compressed"
for name in narrow compressed; do mv "$dir/$name/eval" "$dir/$name/val"; done
wrong "$dir/narrow" "AssertionError\|ValueError"
wrong "$dir/compressed" "is missing"

# All examples of the train split make one batch, so that it has no order.
make batch --for streaming --dupe-factor 1 --max-seq-length 64 --max-predictions-per-seq 10 --eval-fraction 0.9
"$torch" internal/dev/interop/check_model.py make "$dir/model" --vocab "$dir/demo/shards/vocab.txt" --no-dropout --range 0.02
"$dir/train-bert" train --data "$dir/batch" --init "$dir/model" --out "$dir/run" --train-batch-size "$(grep -c '/train-' "$dir/batch.jsonl")" \
	--num-train-steps 10 --num-warmup-steps 0 --learning-rate 3e-3 --set bias-correction=true --quiet >/dev/null
"$torch" $check train "$dir/batch/streaming" "$dir/batch.jsonl" "$dir/model" "$dir/run/metrics.jsonl" 2>"$dir/err.txt" || { tail -3 "$dir/err.txt"; exit 1; }

root=$PWD
python() { "$torch" "$root/internal/dev/interop/run_page.py" "$page"; }
export torch root page
export -f python
for consumer in modernbert mosaicbert streaming; do
	page=$root/docs/for/$consumer.md
	mkdir "$dir/$consumer-page" && cd "$dir/$consumer-page"
	cp "$dir"/demo/sources/*.xml.bz2 enwiki-latest-pages-articles.xml.bz2
	"$root/internal/dev/checks/page.sh" "$page" >commands.sh
	grep -q -- "^prepare-data run .* --for $consumer " commands.sh
	grep -q "^python " commands.sh || echo python >>commands.sh
	PATH="$dir:$PATH" bash -euo pipefail commands.sh >out.txt 2>err.txt || { tail -5 err.txt; exit 1; }
	tail -1 out.txt
	cd "$root"
done
