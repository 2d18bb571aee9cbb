#!/usr/bin/env bash
# The commands of docs/your-language.md as they stand there: a dump becomes a model that
# learns, and transformers fills a mask with the same token as train-bert.
# reads: go:cmd/prepare-data go:cmd/train-bert docs/your-language.md data:wiki/ltgwiki-pages-articles.xml.bz2 env:torch
set -euo pipefail
torch=$(internal/dev/checks/env.sh torch)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# blocks LANGUAGE prints the code blocks of the page in a language.
blocks() { awk -v start="\`\`\`$1" '$0 == "```" {on = 0} on {print} $0 == start {on = 1}' docs/your-language.md; }
blocks sh >"$dir/commands.sh"
blocks python >"$dir/fill.py"
[ "$(grep -cE '^(prepare-data|train-bert) ' "$dir/commands.sh")" -ge 8 ] && [ -s "$dir/fill.py" ] || { echo "docs/your-language.md: the commands were not found"; exit 1; }
go build -o "$dir/" ./cmd/prepare-data ./cmd/train-bert
mkdir "$dir/work"
cp "${PRETEXT_DATA:-../shared/data}/wiki/ltgwiki-pages-articles.xml.bz2" "$dir/work/"
cd "$dir/work"
PATH="$dir:$PATH" bash -euo pipefail ../commands.sh >../out.txt 2>../err.txt || { tail -5 ../err.txt; exit 1; }
TRANSFORMERS_OFFLINE=1 "$torch" ../fill.py >../filled.txt
head -3 ../filled.txt
"$torch" - <<'END'
import json

metrics = [m for m in map(json.loads, open("model/metrics.jsonl")) if "eval_mask_loss" in m]
first, last = metrics[0], metrics[-1]
print("loss on [MASK]", round(first["eval_mask_loss"], 2), "to", round(last["eval_mask_loss"], 2), "of word frequencies", round(last["eval_unigram_loss"], 2))
assert last["eval_mask_loss"] < last["eval_unigram_loss"] - 1.5, "it has not learned"
predicted = [json.loads(line) for line in open("../out.txt") if line.startswith('{"text"')]
ours = predicted[0]["masks"][0]["predictions"][0]
token, score = open("../filled.txt").readline().split()
assert token == ours["token"] and abs(float(score) - ours["probability"]) < 2e-3, (token, score, ours)
assert json.load(open("ltg-bert/tokenizer_config.json"))["do_lower_case"] is False
END
