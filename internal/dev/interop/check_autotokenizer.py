"""Loads data sets of prepare-data with AutoTokenizer of transformers.

    python check_autotokenizer.py BINARY FOLDER ...

Each folder must load from its path, with the special tokens of the examples, and give
texts the ids of `prepare-data tokenize` with the folder's vocab.txt or tokenizer.json.
"""

import json
import os
import subprocess
import sys

from transformers import AutoTokenizer, __version__

NAMES = ["pad", "unk", "cls", "sep", "mask"]
LINES = ["The river was high that spring, and the ferry did not cross for nine days.", "prepare-data vocab documents --model bpe", "Zürich, naïve, Ωmega - 12,345.67 €",
         "東京は大きい。 한국어 문장을 읽는다", "中文字符,没有空格。", "हिन्दी में लिखा हुआ वाक्य", "Tiếng Việt có dấu", "قال الرجل في البيت", "Ο λόγος της ΑΘΗΝΑ", "İstanbul'da ß ẞ ﬁ",
         "  two  spaces\tand a tab ", "don't I'll we've", "x" * 200, "y" * 201, "emoji 🙂 and a \u200b mark", ""]
# Where BERT's own tokenizer, which package tokenize follows, differs from the library.
MASKED, SIGMA = "a [MASK] in a text", "ΛΟΓΟΣ"


def fail(*parts):
    sys.exit(": ".join(map(str, parts)))


def made(folder):
    """Returns the options in the manifest: those of the vocabulary or of the examples."""
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as f:
        options = json.load(f)["options"]
    return options.get("examples", options)


def specials(folder):
    """Returns the ids of special tokens in vocab.txt, or in the manifest if there is none."""
    path = os.path.join(folder, "vocab.txt")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            tokens = f.read().split("\n")
        return {name: tokens.index("[%s]" % name.upper()) for name in NAMES if "[%s]" % name.upper() in tokens}
    of = made(folder).get("tokenizer")
    if of is None:  # trained
        return dict(zip(NAMES, range(5)))
    return {name: of[name] for name in NAMES if of[name] >= 0}


def check(binary, folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    want = specials(folder)
    got = {name: getattr(tokenizer, name + "_token_id") for name in NAMES if getattr(tokenizer, name + "_token") is not None}
    if got != want:
        fail(folder, "special tokens %s, want %s" % (got, want))
    words = os.path.exists(os.path.join(folder, "vocab.txt"))
    of = ["--vocab", os.path.join(folder, "vocab.txt"), "--do-lower-case=%s" % str(made(folder).get("do_lower_case", True)).lower()] if words else ["--tokenizer", os.path.join(folder, "tokenizer.json")]
    lines = LINES if words else LINES + [MASKED, SIGMA]
    given = "".join(json.dumps({"text": line}) + "\n" for line in lines)
    out = subprocess.run([binary, "tokenize", *of, "--jsonl"], input=given, capture_output=True, text=True, check=True).stdout
    ids = 0
    for line, answer in zip(lines, out.splitlines(), strict=True):
        got, ours = tokenizer(line, add_special_tokens=False)["input_ids"], json.loads(answer)["ids"]
        if got != ours:
            fail(folder, repr(line), "transformers has %s, want %s" % (got, ours))
        ids += len(got)
    if words:
        pair = tokenizer("the river", "the ferry")
        a, b = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("the river", "the ferry"))
        cls, sep = want["cls"], want["sep"]
        if pair["input_ids"] != [cls, *a, sep, *b, sep] or pair["token_type_ids"] != [0] * (len(a) + 2) + [1] * (len(b) + 1):
            fail(folder, "a pair is %s" % pair)
        if tokenizer(MASKED, add_special_tokens=False)["input_ids"].count(want["mask"]) != 1:
            fail(folder, "a mask in a text is no token")
    print("%s: transformers %s has the same special tokens and ids (%d)" % (folder, __version__, ids))


for name in sys.argv[2:]:
    check(sys.argv[1], name)
