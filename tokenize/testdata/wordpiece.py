"""Writes what Google's BERT tokenizer gives for the texts of wordpiece_cases.jsonl:

    pip install tensorflow-cpu==2.21.0 six
    pip install --no-deps bert-tensorflow==1.0.4
    python3 wordpiece.py

bert-tensorflow is google-research/bert as Google released it on PyPI; its
tokenization.py runs unmodified. The texts (made up; bytes_b64 for what is not
UTF-8) and do_lower_case of each line stay, ids and tokens are written again.

wordpiece_vocab.txt is made from the texts: the special tokens, short pieces of
words, and most of their characters, so that [UNK] occurs too.
"""

import base64
import json
import unicodedata

from absl import flags
from bert import tokenization

CASES, VOCAB = "wordpiece_cases.jsonl", "wordpiece_vocab.txt"
PIECES = """the quick brown fox over lazy dog hello world want run un aff able ing ed er s state of art mail example com
can won don they re it rock roll straße strasse camel snake case in te kebab moskva anti dis esta bl ish ment arian ism
12 34 123 2024 2 000 0 00 no.""".split()


def vocabulary(texts):
    characters = set()
    for text in texts:
        for form in (text, text.lower(), unicodedata.normalize("NFD", text.lower())):
            characters.update(form)
    kept = [c for i, c in enumerate(sorted(characters)) if (i % 12 or c.isascii()) and unicodedata.category(c)[0] not in "CZ"]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for piece in kept + PIECES:
        for token in (piece, "##" + piece):
            if token not in tokens:
                tokens.append(token)
    return tokens


def main():
    flags.FLAGS(["wordpiece.py"])  # tokenization.py reads flags
    with open(CASES, encoding="ascii") as f:
        cases = [json.loads(line) for line in f]
    vocab = vocabulary([c["text"] for c in cases if "bytes_b64" not in c])
    with open(VOCAB, "w", encoding="utf-8", newline="\n") as f:
        f.write("".join(token + "\n" for token in vocab))
    tokenizers = {lower: tokenization.FullTokenizer(VOCAB, do_lower_case=lower) for lower in (False, True)}
    for c in cases:
        text = base64.b64decode(c["bytes_b64"]) if "bytes_b64" in c else c["text"]
        tokenizer = tokenizers[c["do_lower_case"]]
        c["tokens"] = tokenizer.tokenize(text)
        c["ids"] = tokenizer.convert_tokens_to_ids(c["tokens"])
    with open(CASES, "w", encoding="ascii") as f:
        f.write("".join(json.dumps(c) + "\n" for c in cases))


main()
