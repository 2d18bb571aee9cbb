"""Asks Hugging Face's tokenizers how BertTokenizerFast treats every code point:

    pip install tokenizers==0.23.3
    python3 probe.py | go run . > ../../hf_generated.go

Writes a line a code point: its number in hexadecimal and the words of
"a<character>b", uncased and cased, and those of the character between two
non-starters that stand in the wrong order, uncased, separated by tabs.
"""

import sys

from tokenizers import normalizers, pre_tokenizers

SPLIT = pre_tokenizers.BertPreTokenizer()
MODES = [normalizers.BertNormalizer(lowercase=lower) for lower in (True, False)]


def words(normalizer, text):
    return " ".join(word for word, _ in SPLIT.pre_tokenize_str(normalizer.normalize_str(text)))


sys.stdout.reconfigure(encoding="utf-8")
for point in range(sys.maxunicode + 1):
    if not 0xD800 <= point <= 0xDFFF:
        text = "a" + chr(point) + "b"
        order = "a\U0001d16d" + chr(point) + "\U0001d165b"
        print(f"{point:x}", *(words(mode, text) for mode in MODES), words(MODES[0], order), sep="\t")
