"""Checks rows of recipe packed, or records of recipe pieces, against the documents of recipe tokens, with nothing but Python:

    python3 check_packed.py TOKENS PACKED CLS SEP PAD SEQ

TOKENS and PACKED are folders made from the same documents with the same shards. Each token of each document must be
in one piece, in order; pieces must be [CLS] text [SEP] and fill a row of SEQ values up to padding, or be a record of at
most SEQ values each. Prints the padding.
"""
import collections, glob, struct, sys

def varint(b, i):
    n = shift = 0
    while True:
        n, shift, i = n | (b[i] & 127) << shift, shift + 7, i + 1
        if b[i - 1] < 128:
            return n, i

def fields(b):
    i = 0
    while i < len(b):
        key, i = varint(b, i)
        assert key & 7 == 2, "only lists and messages"
        n, i = varint(b, i)
        yield key >> 3, b[i:i + n]
        i += n

def records(path):
    data, i = open(path, "rb").read(), 0
    while i < len(data):
        n, = struct.unpack_from("<Q", data, i)
        features = {}
        for _, entry in fields(dict(fields(data[i + 12:i + 12 + n]))[1]):
            e, values, j = dict(fields(entry)), [], 0
            packed = dict(fields(dict(fields(e[2]))[3]))[1]
            while j < len(packed):
                v, j = varint(packed, j)
                values.append(v)
            features[e[1].decode()] = values
        yield features
        i += 16 + n

tokens, packed = sys.argv[1:3]
cls, sep, pad, seq = map(int, sys.argv[3:])
rows = padding = 0
for path in sorted(glob.glob(tokens + "/*.tfrecord")):
    documents = [tuple(r["input_ids"]) for r in records(path)]
    pieces = collections.Counter()
    for r in records(path.replace(tokens, packed, 1)):
        ids, at = r["input_ids"], 0
        row = set(r) == {"input_ids", "sequence_lengths"} and len(ids) == seq
        assert row or set(r) == {"input_ids"} and len(ids) <= seq
        for n in r["sequence_lengths"] if row else [len(ids)]:
            assert n > 2 and ids[at] == cls and ids[at + n - 1] == sep, "a piece is [CLS] text [SEP]"
            pieces[tuple(ids[at + 1:at + n - 1])] += 1
            at += n
        assert all(v == pad for v in ids[at:]), "only padding follows the pieces"
        rows, padding = rows + 1, padding + len(ids) - at
    sizes = sorted({len(p) for p in pieces}, reverse=True)
    for d in sorted(documents, key=len):
        if len(d) + 2 <= seq:
            assert pieces[d] > 0, "a document that fits a row is one piece"
            pieces[d] -= 1
    for d in (d for d in documents if len(d) + 2 > seq):
        at = 0
        while at < len(d):
            part = next((d[at:at + n] for n in sizes if at + n <= len(d) and pieces[d[at:at + n]] > 0), None)
            assert part, "token %d of a document is in no piece" % at
            pieces[part] -= 1
            at += len(part)
    assert not +pieces, "pieces that are of no document"
print("%d rows, %.3f %% padding" % (rows, 100 * padding / (rows * seq)))
