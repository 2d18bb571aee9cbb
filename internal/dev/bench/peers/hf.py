"""Hugging Face tokenizers, one thread: hf.py VOCAB|tokenizer.json uncased|cased batch|line LINES SUMS"""
import os
import struct
import sys
import zlib

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
from tokenizers import BertWordPieceTokenizer, Tokenizer

import measure

if sys.argv[1].endswith(".json"):
    tokenizer = Tokenizer.from_file(sys.argv[1])
else:
    tokenizer = BertWordPieceTokenizer(sys.argv[1], lowercase=sys.argv[2] == "uncased")._tokenizer
lines = measure.lines()
start = measure.cpu()
if sys.argv[3] == "line":
    encodings = [tokenizer.encode(line, add_special_tokens=False) for line in lines]
else:
    encodings = []
    for i in range(0, len(lines), 1000):
        encodings += tokenizer.encode_batch_fast(lines[i : i + 1000], add_special_tokens=False)
seconds = measure.cpu() - start
sums = [zlib.crc32(struct.pack("<%dI" % len(e.ids), *e.ids)) for e in encodings]
measure.report(seconds, sum(len(line.encode()) for line in lines), sums)
