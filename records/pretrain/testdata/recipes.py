"""Writes recipes.json: records of the recipes mlm, tokens, packed and pieces, made by a
second implementation, from docs/recipes.md and the package comments alone, with
Python's own random. Run it with any Python 3; its output is checked in.
"""

import json
import random
import sys

CLS, SEP, MASK = 1, 2, 3


def document(d, vocab):
    return [[4 + (1009 * d + 101 * s + 7 * s * t + 13 * t) % (vocab - 4) for t in range(1 + (5 * s + 3 * d) % 17)]
            for s in range(8 + 4 * d)]


def wanted(n, o):
    return min(o["max_predictions_per_seq"], max(1, int(round(n * o["masked_lm_prob"]))))


def fate(rng, o):
    if rng.random() < o["mask"]:
        return "mask"
    if o["mask"] + o["random"] == 0.9:
        stay = 0.5
    else:
        stay = (1 - o["mask"] - o["random"]) / (1 - o["mask"])
    return "stay" if rng.random() < stay else "random"


def replaced(rng, what, token, vocab):
    if what == "mask":
        return MASK
    return token if what == "stay" else rng.randint(0, vocab - 1)


def words_of(tokens):
    """Positions of each word; ids divisible by 3 continue one."""
    words, begins = [], True
    for i, t in enumerate(tokens):
        if t in (CLS, SEP):
            begins = True
            continue
        if begins or t % 3 != 0:
            words.append([])
        words[-1].append(i)
        begins = False
    return words


def mask_spans(rng, tokens, o, vocab):
    want, words, chosen = wanted(len(tokens), o), words_of(tokens), {}
    weights = [0.2 * 0.8 ** i for i in range(10)]
    total = sum(weights)
    for _ in range(4 * len(words)):
        if want == 0:
            break
        draw, acc, length = rng.random(), 0.0, 10
        for i, w in enumerate(weights[:9]):
            acc += w / total
            if draw < acc:
                length = i + 1
                break
        first = rng.randint(0, len(words) - 1)
        span = []
        for w in words[first:first + length]:
            if w[0] in chosen or (span and w[0] != span[-1] + 1) or len(w) > want:
                break
            want -= len(w)
            span += w
        if span:
            what = fate(rng, o)
            for p in span:
                chosen[p] = replaced(rng, what, tokens[p], vocab)
    return chosen


def mask(rng, tokens, o, vocab):
    if o.get("span_mask"):
        return mask_spans(rng, tokens, o, vocab)
    want, chosen = wanted(len(tokens), o), {}
    if o.get("do_whole_word_mask"):
        groups = words_of(tokens)
    else:
        groups = [[i] for i, t in enumerate(tokens) if t not in (CLS, SEP)]
    rng.shuffle(groups)
    for g in groups:
        if want == 0:
            break
        if len(g) <= want:
            want -= len(g)
            for p in g:
                chosen[p] = replaced(rng, fate(rng, o), tokens[p], vocab)
    return chosen


def mlm(documents, o, vocab, seed):
    rng, room, out = random.Random(seed), o["max_seq_length"] - 2, []
    rng.shuffle(documents)

    def aim():
        return rng.randint(min(2, room), room) if rng.random() < o["short_seq_prob"] else room

    def emit(texts):
        tokens = [CLS]
        for t in texts:
            tokens += t + [SEP]
        chosen = mask(rng, tokens, o, vocab)
        out.append({"tokens": [chosen.get(i, t) for i, t in enumerate(tokens)], "positions": sorted(chosen),
                    "labels": [tokens[p] for p in sorted(chosen)]})

    cross = o.get("cross_documents")
    for _ in range(o["dupe_factor"]):
        texts, used = [], 0
        if cross:
            target = aim()
        for d in documents:
            if not cross:
                target = aim()
            for i, sentence in enumerate(d):
                gap = 1 if i == 0 and used else 0
                if used and used + gap + len(sentence) > target:
                    emit(texts)
                    texts, used, gap = [], 0, 0
                    if cross:
                        target = aim()
                while len(sentence) > room:
                    emit([sentence[:room]])
                    sentence = sentence[room:]
                if texts and i > 0:
                    texts[-1] = texts[-1] + sentence
                else:
                    texts.append(sentence)
                used += gap + len(sentence)
            if not cross and used:
                emit(texts)
                texts, used = [], 0
        if used:
            emit(texts)
    rng.shuffle(out)
    return out


def cut(ends, start, room, slack):
    """Where to cut text that begins at start, given the ends of sentences."""
    best = start + room
    within = [e for e in ends if start < e <= best]
    return within[-1] if within and best - within[-1] <= slack else best


def ends_of(d):
    ends, n = [], 0
    for s in d:
        n += len(s)
        ends.append(n)
    return ends


def tokens(documents, o, vocab, seed):
    rng, out, most = random.Random(seed), [], o["max_seq_length"]
    rng.shuffle(documents)
    for d in documents:
        ids, at = sum(d, []), 0
        while at < len(ids):
            end = len(ids) if len(ids) - at <= most else cut(ends_of(d), at, most, most)
            out.append({"tokens": ids[at:end]})
            at = end
    return out


def packed(documents, o, vocab, seed):
    rng, seq = random.Random(seed), o["max_seq_length"]
    slack, rows, fixed, rests = int(o.get("pack_slack", 0) * seq), [], [], []
    rng.shuffle(documents)
    for d in documents:
        at, n, parts = 0, ends_of(d)[-1], 0
        while n - at + 2 > seq:
            end = cut(ends_of(d), at, seq - 2, slack)
            fixed.append((d, at, end))
            at, parts = end, parts + 1
        (rests if parts else fixed).append((d, at, n))

    def size(p):
        return p[2] - p[1] + 2

    clock = 0

    def put(row, p):
        nonlocal clock
        clock += 1
        row["pieces"].append(p)
        row["left"] -= size(p)
        row["used"] = clock

    def new():
        rows.append({"left": seq, "pieces": [], "used": 0})
        return rows[-1]

    def fitting(n):
        """The row with the least room for n, of several the one used last."""
        return min((r for r in rows if r["left"] >= n), key=lambda r: (r["left"], -r["used"]), default=None)

    for p in sorted(fixed, key=size, reverse=True):
        put(fitting(size(p)) or new(), p)
    for p in sorted(rests, key=size, reverse=True):
        while True:
            row = fitting(size(p))
            if row is None and sum(r["left"] for r in rows if r["left"] >= max(slack + 1, 16)) < size(p):
                row = new()
            if row is not None:
                put(row, p)
                break
            row = max(rows, key=lambda r: (r["left"], r["used"]))
            end = cut(ends_of(p[0]), p[1], row["left"] - 2, slack)
            put(row, (p[0], p[1], end))
            p = (p[0], end, p[2])
    rng.shuffle(rows)
    out = []
    for row in rows:
        pieces = row["pieces"][::-1]
        rng.shuffle(pieces)
        ids, lengths = [], []
        for d, at, end in pieces:
            ids += [CLS] + sum(d, [])[at:end] + [SEP]
            lengths.append(end - at + 2)
        out.append({"tokens": ids, "lengths": lengths})
    return out


def pieces(documents, o, vocab, seed):
    most, out = o["max_seq_length"] - 2, []
    for d in documents:
        ids, at = sum(d, []), 0
        while at < len(ids):
            end = len(ids)
            if end - at > most:
                end = cut(ends_of(d), at, most, int(o.get("pack_slack", 0) * o["max_seq_length"]))
            out.append({"tokens": [CLS] + ids[at:end] + [SEP]})
            at = end
    random.Random(seed).shuffle(out)
    return out


def main():
    base = {"max_seq_length": 40, "max_predictions_per_seq": 9, "masked_lm_prob": 0.2, "short_seq_prob": 0.0, "dupe_factor": 2}
    bare = {"dupe_factor": 1}
    cases = [
        ("mlm", "sentences of a document", base, 0.8, 0.1),
        ("mlm", "short ones, whole words", dict(base, short_seq_prob=0.5, do_whole_word_mask=True), 0.8, 0.1),
        ("mlm", "across documents", dict(base, cross_documents=True, short_seq_prob=0.3), 0.6, 0.25),
        ("mlm", "long sentences", dict(base, max_seq_length=12, max_predictions_per_seq=3), 1, 0),
        ("mlm", "spans", dict(base, span_mask=True, masked_lm_prob=0.3, max_predictions_per_seq=12), 0.8, 0.1),
        ("mlm", "spans across documents", dict(base, span_mask=True, cross_documents=True), 1, 0),
        ("tokens", "whole documents", dict(bare, max_seq_length=1 << 20), 0, 0),
        ("tokens", "cut documents", dict(bare, max_seq_length=50), 0, 0),
        ("tokens", "cut sentences", dict(bare, max_seq_length=7), 0, 0),
        ("packed", "no slack", dict(bare, max_seq_length=96), 0, 0),
        ("packed", "slack", dict(bare, max_seq_length=96, pack_slack=0.1), 0, 0),
        ("packed", "whole documents", dict(bare, max_seq_length=700, pack_slack=0.01), 0, 0),
        ("packed", "small rows", dict(bare, max_seq_length=10), 0, 0),
        ("pieces", "no slack", dict(bare, max_seq_length=40), 0, 0),
        ("pieces", "slack", dict(bare, max_seq_length=60, pack_slack=0.2), 0, 0),
        ("pieces", "whole documents", dict(bare, max_seq_length=700, pack_slack=0.01), 0, 0),
        ("pieces", "shortest", dict(bare, max_seq_length=3, pack_slack=0.5), 0, 0),
    ]
    out = []
    for seed, (recipe, name, options, m, r) in enumerate(cases):
        vocab, count = 200 + 100 * seed, 7
        o = dict(options, mask=m, random=r)
        examples = globals()[recipe]([document(d, vocab) for d in range(count)], o, vocab, seed)
        case = dict(options, name=recipe + ", " + name, recipe=recipe, seed=seed, vocab=vocab, documents=count, examples=examples)
        if recipe == "mlm" and (m, r) != (0.8, 0.1):
            case["replace"] = {"mask_token_prob": m, "random_token_prob": r}
        out.append(case)
    json.dump(out, sys.stdout, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
