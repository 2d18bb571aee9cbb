"""WordPiece of BERT in plain Python, as its authors wrote it: character by
character, then greedily the longest piece. wordpiece.py VOCAB uncased|cased LINES SUMS

It is written for comparison of speed, in the manner of that code: lists of
characters, a string a piece, a dictionary look-up a candidate.
"""
import struct
import sys
import unicodedata
import zlib

import measure

LONGEST = 200  # characters of a word


def is_space(c):
    return c in " \t\n\r" or unicodedata.category(c) == "Zs"


def is_control(c):
    return c not in "\t\n\r" and unicodedata.category(c) in ("Cc", "Cf")


def is_punctuation(c):
    n = ord(c)
    if 33 <= n <= 47 or 58 <= n <= 64 or 91 <= n <= 96 or 123 <= n <= 126:
        return True
    return unicodedata.category(c).startswith("P")


IDEOGRAPHS = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
              (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))


def is_ideograph(c):
    n = ord(c)
    return any(first <= n <= last for first, last in IDEOGRAPHS)


def clean(text):
    out = []
    for c in text:
        if c in "\0\ufffd" or is_control(c):
            continue
        out.append(" " if is_space(c) else c)
    return "".join(out)


def space_ideographs(text):
    out = []
    for c in text:
        if is_ideograph(c):
            out += [" ", c, " "]
        else:
            out.append(c)
    return "".join(out)


def without_accents(word):
    return "".join([c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn"])


def at_punctuation(word):
    parts, fresh = [], True
    for c in word:
        if is_punctuation(c):
            parts.append([c])
            fresh = True
        else:
            if fresh:
                parts.append([])
                fresh = False
            parts[-1].append(c)
    return ["".join(p) for p in parts]


def words(text, lower):
    out = []
    for word in space_ideographs(clean(text)).split():
        if lower:
            word = without_accents(word.lower())
        out += at_punctuation(word)
    return " ".join(out).split()


def pieces(word, vocab):
    if len(word) > LONGEST:
        return ["[UNK]"]
    out, start = [], 0
    while start < len(word):
        end = len(word)
        while start < end:
            piece = word[start:end] if start == 0 else "##" + word[start:end]
            if piece in vocab:
                break
            end -= 1
        if start == end:
            return ["[UNK]"]
        out.append(piece)
        start = end
    return out


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        vocab = {line.strip(): i for i, line in enumerate(f)}
    lines, ids, lower = measure.lines(), [], sys.argv[2] == "uncased"
    start = measure.cpu()
    for line in lines:
        tokens = []
        for word in words(line, lower):
            tokens += pieces(word, vocab)
        ids.append([vocab[t] for t in tokens])
    seconds = measure.cpu() - start
    sums = [zlib.crc32(struct.pack("<%dI" % len(i), *i)) for i in ids]
    measure.report(seconds, sum(len(line.encode()) for line in lines), sums)


main()
