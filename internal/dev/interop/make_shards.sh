#!/usr/bin/env bash
# Shards of every recipe for the tests of the Python package: make_shards.sh PREPARE-DATA ORDER OUT
# ORDER is the program internal/dev/interop/order. What the files are: python/tests/shards.py.
set -euo pipefail
prepare=$1 order=$2 out=$3
"$prepare" demo --out "$out/demo" --quiet >/dev/null
mv "$out/demo/shards" "$out/google"
make() { # NAME FLAG...
	"$prepare" examples "$out/demo/documents" --vocab "$out/google/vocab.txt" "${@:2}" --out "$out/$1" --quiet >/dev/null
}
make mlm --recipe mlm --eval-fraction 0.1 --shards 3
make tokens --recipe tokens --eval-fraction 0.1 --shards 3
make packed --recipe packed --eval-fraction 0.1 --shards 3
make pieces --recipe pieces --eval-fraction 0.1 --shards 3
make bins --recipe mlm --eval-fraction 0.1 --shards 3 --set length-bins=64,128
make gzip --eval-fraction 0.1 --shards 3 --compression gzip --dupe-factor 2
make many --eval-fraction 0.1 --shards 18 --dupe-factor 5
"$prepare" vocab "$out/demo/documents" --model bpe --vocab-size 1000 --out "$out/bpe-vocab" --quiet >/dev/null
"$prepare" examples "$out/demo/documents" --tokenizer "$out/bpe-vocab/tokenizer.json" --recipe packed --max-seq-length 256 --shards 2 --out "$out/bpe" --quiet >/dev/null
make large --dupe-factor 45 --shards 1
for name in google mlm tokens packed pieces bins gzip many; do
	"$prepare" head "$out/$name" --json -n 0 >"$out/$name.jsonl"
done
"$order" -words "$out/google" 7 >"$out/words.order"
"$order" -length 128 "$out/tokens" 7 >"$out/tokens.order"
for name in packed pieces many; do "$order" "$out/$name" 7 >"$out/$name.order"; done
"$order" -every 31 "$out/large" 7 >"$out/large.order"
