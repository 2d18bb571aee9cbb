"""Compares tokenizers that prepare-data trains with those of Hugging Face's trainers.

    python check_training.py BINARY DIR [FILE ...]

Both train on the documentation of this repository and FILE. BPE must have the same
tokens and merges. Unigram, whose original sums in the order of its threads, must
split other text into at most 1 % more tokens and give it at most 1 % less log
likelihood. Both files must load, and the ids of the library are those of prepare-data.
"""

import glob
import json
import math
import os
import subprocess
import sys

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SIZE = {"bpe": 3000, "unigram": 2000}


def texts(files):
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)) + files:
        with open(path, encoding="utf-8") as f:
            yield from (part.strip() for part in f.read().split("\n\n") if part.strip())  # as documents are read


def ours(binary, folder, model):
    out = os.path.join(folder, model)
    alphabet = [] if model == "bpe" else ["--limit-alphabet", "100000"]
    subprocess.run([binary, "vocab", os.path.join(folder, "train.jsonl"), "--model", model, "--vocab-size", str(SIZE[model]), "--out", out, "--quiet", *alphabet], check=True)
    return os.path.join(out, "tokenizer.json")


def bpe(train):
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(train, trainers.BpeTrainer(vocab_size=SIZE["bpe"], min_frequency=2, special_tokens=SPECIALS, show_progress=False,
                                                     initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


def unigram(train):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.train_from_iterator(train, trainers.UnigramTrainer(vocab_size=SIZE["unigram"], unk_token="[UNK]", special_tokens=SPECIALS, show_progress=False))
    return t


def quality(tokenizer, test):
    """Tokens and log likelihood of a Unigram tokenizer, with its probabilities made to add up to 1."""
    scores = [s for _, s in json.loads(tokenizer.to_str())["model"]["vocab"]]
    total = math.log(sum(math.exp(s) for s in scores[len(SPECIALS):]))
    tokens, likelihood = 0, 0.0
    for text in test:
        for i in tokenizer.encode(text, add_special_tokens=False).ids:
            tokens += 1
            likelihood += (scores[i] if i >= len(SPECIALS) else min(scores) - 10) - total
    return tokens, likelihood


def main():
    binary, folder, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    everything = list(texts(files))
    train, test = [t for i, t in enumerate(everything) if i % 10], everything[::10]
    with open(os.path.join(folder, "train.jsonl"), "w", encoding="utf-8") as f:
        for i, text in enumerate(train):
            f.write(json.dumps({"id": str(i), "text": text}) + "\n")

    path = ours(binary, folder, "bpe")
    got, want = (json.loads(t.to_str())["model"] for t in (Tokenizer.from_file(path), bpe(train)))
    for field in ("vocab", "merges"):
        if got[field] != want[field]:
            different = [(a, b) for a, b in zip(sorted(got[field]), sorted(want[field])) if a != b]
            sys.exit("bpe: other %s than the library's trainer: %s" % (field, different[:3]))
    print("bpe: %d tokens and %d merges, the library's" % (len(got["vocab"]), len(got["merges"])))

    path = ours(binary, folder, "unigram")
    tokenizer, peer = Tokenizer.from_file(path), unigram(train)
    size = sum(len(t.encode()) for t in test)
    for name, t in (("ours", tokenizer), ("theirs", peer)):
        tokens, likelihood = quality(t, test)
        print("unigram, %s: %d tokens, %.4f tokens a byte, log likelihood %.4f a byte" % (name, t.get_vocab_size(), tokens / size, likelihood / size))
    (a, x), (b, y) = quality(tokenizer, test), quality(peer, test)
    if a > 1.01 * b or -x > 1.01 * -y:
        sys.exit("unigram: worse than the library's trainer by over 1 %")
    for model in ("bpe", "unigram"):
        path = os.path.join(folder, model, "tokenizer.json")
        lines = [{"text": t} for t in test[:200]]
        out = subprocess.run([binary, "tokenize", "--tokenizer", path, "--jsonl"], input="\n".join(map(json.dumps, lines)) + "\n", capture_output=True, text=True, check=True).stdout
        peer = Tokenizer.from_file(path)
        for line, text in zip(out.splitlines(), test):
            ids = json.loads(line)["ids"]
            if ids != peer.encode(text, add_special_tokens=False).ids:
                sys.exit("%s: other ids than the library's for %r" % (model, text))


main()
