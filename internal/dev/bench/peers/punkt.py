"""Sentences of NLTK's Punkt: punkt.py PARAMETERS DOCUMENTS SUMS

PARAMETERS are lines of kind and value, as the packed parameters of package
tokenize/sentence hold them.
"""
import gzip
import sys
import zlib

from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

import measure


def parameters(path):
    p = PunktParameters()
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as f:
        for line in f:
            kind, value = line.rstrip("\n").split(" ", 1)
            if kind == "a":
                p.abbrev_types.add(value)
            elif kind == "c":
                p.collocations.add(tuple(value.split("\t")))
            elif kind == "s":
                p.sent_starters.add(value)
            elif kind == "o":
                context, word = value.split(" ", 1)
                p.ortho_context[word] = int(context, 16)
    return p


tokenizer = PunktSentenceTokenizer(parameters(sys.argv[1]))
documents = [d.replace("\x01", "\n") for d in measure.lines()]
start = measure.cpu()
spans = [list(tokenizer.span_tokenize(d)) for d in documents]
seconds = measure.cpu() - start
sums = [zlib.crc32("\n".join(d[a:b].strip() for a, b in s).encode()) for d, s in zip(documents, spans)]
measure.report(seconds, sum(len(d.encode()) for d in documents), sums)
