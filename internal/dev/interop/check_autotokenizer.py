"""Loads the folders that `prepare-data vocab` writes with AutoTokenizer of transformers.

    python check_autotokenizer.py BINARY FOLDER ...

The special tokens have their names and ids, and the ids of texts are those of
`prepare-data tokenize`, between [CLS] and [SEP].
"""

import json
import os
import subprocess
import sys

from transformers import AutoTokenizer, __version__

SPECIALS = {"pad_token": 0, "unk_token": 1, "cls_token": 2, "sep_token": 3, "mask_token": 4}
LINES = ["The river was high that spring, and the ferry did not cross for nine days.", "prepare-data vocab documents --model bpe", "Zürich, naïve, Ωmega - 12,345.67 €",
         "東京は大きい。", "  two  spaces\tand a tab ", "don't I'll we've", "x" * 200, "emoji 🙂 and a \u200b mark", "a [MASK] in a text", ""]


def check(binary, folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for name, want in SPECIALS.items():
        if getattr(tokenizer, name + "_id") != want:
            sys.exit("%s: the id of %s is %s, want %d" % (folder, name, getattr(tokenizer, name + "_id"), want))
    lines = "".join(json.dumps({"text": line}) + "\n" for line in LINES)
    out = subprocess.run([binary, "tokenize", "--tokenizer", os.path.join(folder, "tokenizer.json"), "--jsonl"], input=lines, capture_output=True, text=True, check=True).stdout
    for line, answer in zip(LINES, out.splitlines(), strict=True):
        got, want = json.loads(answer)["ids"], tokenizer(line)["input_ids"]
        if [SPECIALS["cls_token"]] + got + [SPECIALS["sep_token"]] != want:
            sys.exit("%s: %r: %s, transformers has %s" % (folder, line, got, want))
    back = tokenizer.decode(tokenizer(LINES[0])["input_ids"], skip_special_tokens=True)
    if back.strip() != LINES[0]:
        sys.exit("%s: decoded %r" % (folder, back))
    print("%s: transformers %s has the same special tokens and ids" % (os.path.basename(folder), __version__))


for name in sys.argv[2:]:
    check(sys.argv[1], name)
