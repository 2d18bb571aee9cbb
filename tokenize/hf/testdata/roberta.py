"""Writes roberta_cases.jsonl: texts, and the ids of Hugging Face's tokenizers
with the number of the word that each belongs to.

    pip install tokenizers==0.23.3
    python3 roberta.py roberta-base/tokenizer.json > roberta_cases.jsonl
"""

import json
import random
import sys

from tokenizers import Tokenizer

TEXTS = [
    "", " ", "The ferry left at nine; nobody waved.", "In 2000 it's 20000, 200000 and 0000000.",
    "Hello  world,\n\n it's   o'clock. ", "a <mask> b<mask>c \n<mask>", " <s>x</s><pad><unk>", "<mas<mask", "don't DON'T we'll 3.14 ½ ² ٣ _a_",
    "naïve 世界 é\u0301 \u00a0x\u3000y \u2028z \x00\x1c\x1d x\x85y", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa  " * 4, "😀👨\u200d👩 ¿qué? — “quoted”",
]
ALPHABET = list("aabestinr  '012.,\n\t\u00a0é世\u0301_") + ["<mask>", " the ", "'ll", "ing", "000"]

tokenizer = Tokenizer.from_file(sys.argv[1])
draw = random.Random(7)
drawn = ["".join(draw.choices(ALPHABET, k=draw.randrange(60))) for _ in range(500)]
for text in TEXTS + drawn:
    encoding = tokenizer.encode(text, add_special_tokens=False)
    print(json.dumps({"text": text, "ids": encoding.ids, "words": encoding.word_ids}))
