"""Writes what BertTokenizerFast of Hugging Face gives, for tests of the profile hf:

    pip install tokenizers==0.23.3
    python3 hf.py bert-base-uncased/tokenizer.json

hf_cases.jsonl: texts with their ids and the places of the tokens in the text, in
bytes of UTF-8. hf_words.txt: a line for every 256 code
points with checksums of the words (normalizer and pre-tokenizer) of every code
point among others, uncased and cased.
"""

import hashlib
import json
import random
import sys

from tokenizers import Tokenizer, normalizers, pre_tokenizers

TEXTS = [
    "", " ", "The ferry left at nine; nobody waved.", "[MASK] one [SEP]two[CLS] [UNK][PAD]",
    "[mask] [MA SK] [[MASK]] [MASK]ing un[MASK]able [M\u00adASK] [\u0301MASK]", "é[SEP]\u0301 ΑΣ[SEP]",
    "ΟΔΥΣΣΕΥΣ ΣΑΣ. ΑΣ'Α", "İstanbul ẞ ﬁ Ǆ Ω K Å", "naïve Ångström café e\u0302\u0323",
    "世界 abc世def 豈 \U0002b820 \U0002b920", "한국어 각 한\u302e", "a\x00b\x1fc\x7fd\u200be\u00adf\ufeffg\ufffdh",
    "tab\tline\nreturn\r\v\f\x85 \u00a0\u2003\u2028\u2029\u3000 end", "\ue000private\U000f0000use \u0378unassigned",
    "\u2e43 \u2e52 \u0afa \u1c89 \u16ff0", "≠ ≮ \u1fef \u037e", "😀👨\u200d👩 ¿qué? — “quoted”",
    "a" * 100 + " " + "b" * 101 + " " + "é" * 100 + " " + "한" * 40,
    "\U0001d15e\U0001d165\U0001d16d\U0001d160 x\U0001d16d\u0323\U0001d165y \u1715\u1734",
]
ALPHABET = list("aBzZ09 q,.'[]#é\u0301\u0323\u0345\u00ad\u200b\x00\x1f\x85\u00a0\u2028ΣσςΑİẞ각ᆨ世豈≠\u037e\u1fef\ue000\u0378\ufffd\u2e43") + [
    "[MASK]", "[SEP]", "[MASK", " the ", "ing"]


def cases(path):
    tokenizer = Tokenizer.from_file(path)
    draw = random.Random(7)
    drawn = ["".join(draw.choices(ALPHABET, k=draw.randrange(40))) for _ in range(600)]
    with open("hf_cases.jsonl", "w", encoding="ascii") as out:
        for text in TEXTS + drawn:
            encoding = tokenizer.encode(text, add_special_tokens=False)
            at = [0]
            for char in text:
                at.append(at[-1] + len(char.encode()))
            offsets = [[at[start], at[end]] for start, end in encoding.offsets]
            print(json.dumps({"text": text, "ids": encoding.ids, "offsets": offsets}), file=out)


def context(char):
    return (f"{char} x{char}y Z{char} AΣ{char}B {char}Σ e\u0301{char}\u0323 "
            f"\U0001d16d{char}\U0001d165 !{char}")


def words():
    split = pre_tokenizers.BertPreTokenizer()
    modes = [normalizers.BertNormalizer(lowercase=lower) for lower in (True, False)]
    with open("hf_words.txt", "w", encoding="ascii") as out:
        for page in range(0x1100):
            sums = []
            for mode in modes:
                sum = hashlib.sha256()
                for point in range(page << 8, page + 1 << 8):
                    if not 0xD800 <= point <= 0xDFFF:
                        text = mode.normalize_str(context(chr(point)))
                        for word, _ in split.pre_tokenize_str(text):
                            sum.update(word.encode() + b"\n")
                sums.append(sum.hexdigest()[:8])
            print(f"{page:04x}", *sums, file=out)


cases(sys.argv[1])
words()
