"""Writes golden.json: examples made by a plain Python version of the method,
with CPython's own random, round and sort.

    python3 golden.py > golden.json

Documents are numbers by formula (see document), so that the test can make them
too. Nothing but the standard library is needed.
"""
import json
import random
import sys

CLS, SEP, MASK = 1, 2, 3

CASES = [
    {"name": "pieces", "seed": 12345, "vocab": 500, "documents": 6, "max_seq_length": 32, "max_predictions_per_seq": 5,
     "masked_lm_prob": 0.15, "short_seq_prob": 0.1, "dupe_factor": 2, "do_whole_word_mask": False},
    {"name": "whole words, short", "seed": 2**32 + 7, "vocab": 70000, "documents": 4, "max_seq_length": 24,
     "max_predictions_per_seq": 24, "masked_lm_prob": 0.3, "short_seq_prob": 0.5, "dupe_factor": 3,
     "do_whole_word_mask": True},
    {"name": "one document", "seed": -5, "vocab": 500, "documents": 1, "max_seq_length": 140, "max_predictions_per_seq": 20,
     "masked_lm_prob": 0.15, "short_seq_prob": 0, "dupe_factor": 12, "do_whole_word_mask": False},
]


def subword(i):
    return i % 3 == 0


def document(d, vocab):
    """Sentences of document number d."""
    return [[4 + (1009 * d + 101 * s + 7 * s * t + 13 * t) % (vocab - 4) for t in range(1 + (5 * s + 3 * d) % 17)]
            for s in range(8 + 4 * d)]


def examples(case):
    rng = random.Random(case["seed"])
    docs = [document(d, case["vocab"]) for d in range(case["documents"])]
    rng.shuffle(docs)
    out = []
    for _ in range(case["dupe_factor"]):
        for d in range(len(docs)):
            out.extend(pairs(case, rng, docs, d))
    rng.shuffle(out)
    return out


def flat(sentences):
    return [token for sentence in sentences for token in sentence]


def pairs(case, rng, docs, d):
    room = case["max_seq_length"] - 3
    target = rng.randint(2, room) if rng.random() < case["short_seq_prob"] else room
    todo = list(docs[d])
    while todo:
        n, length = 0, 0
        while n < len(todo) and length < target:
            length += len(todo[n])
            n += 1
        cut = rng.randint(1, n - 1) if n > 1 else 1
        a = flat(todo[:cut])
        is_random = n == 1 or rng.random() < 0.5
        if is_random:
            for _ in range(10):
                other = rng.randint(0, len(docs) - 1)
                if other != d:
                    break
            b = []
            for sentence in docs[other][rng.randint(0, len(docs[other]) - 1):]:
                b += sentence
                if len(b) >= target - len(a):
                    break
            todo = todo[cut:]
        else:
            b = flat(todo[cut:n])
            todo = todo[n:]
        while len(a) + len(b) > room:
            longer = a if len(a) > len(b) else b
            longer.pop(0 if rng.random() < 0.5 else -1)
        yield masked(case, rng, [CLS] + a + [SEP] + b + [SEP], len(a) + 2, is_random)


def masked(case, rng, tokens, second, is_random):
    words = []
    for i, token in enumerate(tokens):
        if token in (CLS, SEP):
            continue
        if case["do_whole_word_mask"] and words and subword(token):
            words[-1].append(i)
        else:
            words.append([i])
    rng.shuffle(words)
    want = min(case["max_predictions_per_seq"], max(1, int(round(len(tokens) * case["masked_lm_prob"]))))
    became = {}
    for word in words:
        if len(became) >= want:
            break
        if len(became) + len(word) > want:
            continue
        for i in word:
            if rng.random() < 0.8:
                became[i] = MASK
            elif rng.random() < 0.5:
                became[i] = tokens[i]
            else:
                became[i] = rng.randint(0, case["vocab"] - 1)
    return {
        "tokens": [became.get(i, token) for i, token in enumerate(tokens)], "second": second,
        "positions": sorted(became), "labels": [tokens[i] for i in sorted(became)], "random_next": is_random,
    }


json.dump([dict(case, examples=examples(case)) for case in CASES], sys.stdout, separators=(",", ":"))
print()
