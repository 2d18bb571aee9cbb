"""Trains tokenizers of every kind with Hugging Face's library and has it encode texts.

    python check_encoding.py DIR [--strings N] [--seed S] [--only KIND,...] [--every K] [--text FILE ...]

writes DIR/texts.jsonl, and for each kind DIR/KIND.json (the tokenizer) and
DIR/KIND.jsonl (ids and the number of each id's word, text by text). go run
./internal/dev/interop/encoding DIR compares them with package tokenize/hf.

N strings are drawn for each kind, each of another seed; every K-th code point
stands alone and between letters. Training text is the documentation of this
repository and FILE.
"""

import argparse
import glob
import gzip
import json
import os
import random
import tempfile
import unicodedata

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]

# Expressions of published tokenizers, as their files have them.
GPT4O = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"]
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


def corpus(files):
    lines = []
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)) + [os.path.join(ROOT, "README.md")]:
        with open(path, encoding="utf-8") as f:
            lines += f.read().split("\n")
    for path in files:
        opened = gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")
        with opened as f:
            for line in f:
                lines.append(json.loads(line)["text"] if ".jsonl" in path else line.rstrip("\n"))
    return lines


def charsmap(lines):
    """The character map of a sentencepiece model that is trained here."""
    with tempfile.TemporaryDirectory() as folder:
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines[:2000]), model_prefix=folder + "/m", vocab_size=300, hard_vocab_limit=False,
                                                 character_coverage=0.98, normalization_rule_name="nmt_nfkc", minloglevel=2)
        processor = open(folder + "/m.model", "rb").read()
    # The ModelProto's field 3 (normalizer_spec) has field 2, the map: parsed by hand, as the package has no reader.
    def fields(data):
        at = 0
        while at < len(data):
            key, at = varint(data, at)
            if key & 7 == 2:
                size, at = varint(data, at)
                yield key >> 3, data[at:at + size]
                at += size
            elif key & 7 == 5:
                at += 4
            else:
                _, at = varint(data, at)

    def varint(data, at):
        value, shift = 0, 0
        while True:
            value |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                return value, at

    spec = next(v for k, v in fields(processor) if k == 3)
    return next(v for k, v in fields(spec) if k == 2)


class Kinds:
    def __init__(self, lines):
        self.lines = lines
        self.map = charsmap(lines)
        self.bytes = pre_tokenizers.ByteLevel.alphabet()

    def train(self, tokenizer, trainer):
        tokenizer.train_from_iterator(self.lines, trainer)
        return tokenizer

    def bpe(self, normalizer, pre, size=1500, byte=True, model=None, **options):
        t = Tokenizer(models.BPE(**(model or {})))
        if normalizer is not None:
            t.normalizer = normalizer
        if pre is not None:
            t.pre_tokenizer = pre
        options.setdefault("special_tokens", SPECIALS)
        if byte:
            options["initial_alphabet"] = self.bytes
        return self.train(t, trainers.BpeTrainer(vocab_size=size, show_progress=False, **options))

    def unigram(self, normalizer, pre, size=6000, **options):
        t = Tokenizer(models.Unigram())
        if normalizer is not None:
            t.normalizer = normalizer
        if pre is not None:
            t.pre_tokenizer = pre
        options.setdefault("special_tokens", SPECIALS)
        return self.train(t, trainers.UnigramTrainer(vocab_size=size, unk_token="<unk>", show_progress=False, **options))

    def wordpiece(self, normalizer, pre, size=1500, special=None, model=None, **options):
        t = Tokenizer(models.WordPiece(**(model or {"unk_token": "[UNK]"})))
        if normalizer is not None:
            t.normalizer = normalizer
        if pre is not None:
            t.pre_tokenizer = pre
        special = special or ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        return self.train(t, trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, show_progress=False, **options))

    def words(self, normalizer, pre, size=3000):
        t = Tokenizer(models.WordLevel(unk_token="<unk>"))
        if normalizer is not None:
            t.normalizer = normalizer
        if pre is not None:
            t.pre_tokenizer = pre
        return self.train(t, trainers.WordLevelTrainer(vocab_size=size, special_tokens=SPECIALS, show_progress=False))

    def changed(self, tokenizer, **model):
        """The tokenizer with other fields in its model."""
        data = json.loads(tokenizer.to_str())
        data["model"].update(model)
        return Tokenizer.from_str(json.dumps(data))

    def all(self):
        n, p = normalizers, pre_tokenizers
        byte = lambda space=False, regex=True: p.ByteLevel(add_prefix_space=space, use_regex=regex)
        split = lambda regex, behavior="isolated", invert=False: p.Split(Regex(regex), behavior, invert)
        seq = lambda *parts: p.Sequence(list(parts))
        bert = n.BertNormalizer
        yield "bpe-gpt2", lambda: self.bpe(None, byte())
        yield "bpe-prefix-space", lambda: self.bpe(None, byte(True))
        yield "bpe-modernbert", lambda: self.modernbert()
        yield "bpe-llama3", lambda: self.changed(self.bpe(None, seq(split(LLAMA3), byte(False, False))), ignore_merges=True)
        yield "bpe-gpt4o", lambda: self.bpe(None, seq(split(GPT4O, "removed", True), byte(False, False)))
        yield "bpe-cl100k", lambda: self.bpe(None, seq(split(CL100K), byte(False, False)))
        yield "bpe-qwen2", lambda: self.bpe(n.NFC(), seq(split(QWEN2), byte(False, False)))
        yield "bpe-deepseek", lambda: self.bpe(None, seq(*map(split, DEEPSEEK), byte(False, False)))
        yield "bpe-bloom", lambda: self.bpe(None, seq(split(BLOOM), byte(False, False)))
        yield "bpe-digits-first", lambda: self.bpe(None, seq(p.Digits(individual_digits=True), byte()))
        yield "bpe-punctuation-digits", lambda: self.bpe(n.NFKC(), seq(p.Punctuation("contiguous"), byte(), p.Digits(individual_digits=True)))
        yield "bpe-clip", lambda: self.bpe(n.Sequence([n.NFC(), n.Replace(Regex(r"\s+"), " "), n.Lowercase()]), seq(split(CLIP, "removed", True), byte(False, False)),
                                           model={"end_of_word_suffix": "</w>", "unk_token": "<unk>"}, end_of_word_suffix="</w>")
        yield "bpe-chars-suffix", lambda: self.bpe(n.Lowercase(), p.BertPreTokenizer(), byte=False, model={"end_of_word_suffix": "</w>", "unk_token": "<unk>"},
                                                   end_of_word_suffix="</w>", limit_alphabet=60)
        yield "bpe-chars-prefix", lambda: self.bpe(n.NFKD(), p.Whitespace(), byte=False, model={"continuing_subword_prefix": "##", "unk_token": "<unk>", "fuse_unk": True},
                                                   continuing_subword_prefix="##", limit_alphabet=80)
        yield "bpe-no-unk", lambda: self.bpe(None, p.WhitespaceSplit(), byte=False, limit_alphabet=60)
        yield "bpe-byte-normalizer", lambda: self.bpe(n.Sequence([n.NFC(), n.ByteLevel()]), seq(p.Split("Ġ", "merged_with_next")))
        yield "bpe-llama2", lambda: self.llama2(False)
        yield "bpe-llama2-fuse", lambda: self.llama2(True)
        yield "bpe-gemma", lambda: self.gemma()
        yield "bpe-mistral-metaspace", lambda: self.changed(self.bpe(None, p.Metaspace(prepend_scheme="first", split=False), byte=False, size=600, limit_alphabet=80,
                                                            special_tokens=SPECIALS + ["<0x%02X>" % b for b in range(256)], model={"unk_token": "<unk>"}), byte_fallback=True)
        yield "bpe-added", lambda: self.added(self.bpe(n.Sequence([n.NFC(), n.Lowercase()]), byte()))
        yield "bpe-added-metaspace", lambda: self.added(self.bpe(n.Prepend("▁"), p.Metaspace(prepend_scheme="first"), byte=False, limit_alphabet=100, model={"unk_token": "<unk>"}))
        yield "unigram-xlmr", lambda: self.xlmr()
        yield "unigram-mdeberta", lambda: self.unigram(n.Sequence([n.Strip(), n.Precompiled(self.map), n.Replace(Regex(" {2,}"), " ")]), p.Metaspace(prepend_scheme="always"),
                                                      special_tokens=["[PAD]", "[CLS]", "[SEP]", "<unk>", "[MASK]"])
        yield "unigram-t5", lambda: self.unigram(n.Precompiled(self.map), seq(p.WhitespaceSplit(), p.Metaspace(prepend_scheme="first")))
        yield "unigram-albert", lambda: self.unigram(n.Sequence([n.Replace("``", '"'), n.Replace("''", '"'), n.NFKD(), n.StripAccents(), n.Lowercase()]), p.Metaspace())
        yield "unigram-scripts", lambda: self.unigram(n.Nmt(), seq(p.UnicodeScripts(), p.Metaspace(prepend_scheme="never", replacement="_")))
        yield "unigram-bytes", lambda: self.changed(self.unigram(n.NFKC(), p.Metaspace(), special_tokens=SPECIALS + ["<0x%02X>" % b for b in range(256)]), byte_fallback=True)
        yield "unigram-whole", lambda: self.unigram(n.NFC(), p.Metaspace(split=False))
        yield "unigram-nothing", lambda: self.ties()
        yield "unigram-added", lambda: self.added(self.unigram(n.Precompiled(self.map), p.Metaspace(prepend_scheme="first")))
        yield "wordpiece-bert", lambda: self.wordpiece(bert(), p.BertPreTokenizer())
        yield "wordpiece-cased", lambda: self.wordpiece(bert(lowercase=False), p.BertPreTokenizer())
        yield "wordpiece-accents", lambda: self.wordpiece(bert(strip_accents=False), p.BertPreTokenizer())
        yield "wordpiece-no-ideographs", lambda: self.wordpiece(bert(handle_chinese_chars=False, strip_accents=True, lowercase=False), p.BertPreTokenizer())
        yield "wordpiece-no-clean", lambda: self.wordpiece(bert(clean_text=False), p.BertPreTokenizer())
        yield "wordpiece-options", lambda: self.changed(self.wordpiece(n.Sequence([n.NFD(), n.Lowercase(), n.StripAccents()]), p.Whitespace(), special=SPECIALS, model={"unk_token": "<unk>"},
                                                        continuing_subword_prefix="@@"), max_input_chars_per_word=9, continuing_subword_prefix="@@")
        yield "wordpiece-added", lambda: self.added(self.wordpiece(bert(), p.BertPreTokenizer()))
        yield "wordlevel-whitespace", lambda: self.words(n.Lowercase(), p.Whitespace())
        yield "wordlevel-fixed", lambda: self.words(n.Strip(left=True, right=False), p.FixedLength(length=3))
        yield "wordlevel-delimiter", lambda: self.words(n.Strip(left=False, right=True), p.CharDelimiterSplit("e"))
        for b in BEHAVIORS:
            yield "split-string-" + b, lambda b=b: self.words(None, p.Split(" ", b, False))
            yield "split-regex-" + b, lambda b=b: self.words(None, split(r"\s+|\b", b))
            yield "split-invert-" + b, lambda b=b: self.words(None, split(r"[\w']+(?=\s)|\p{P}", b, True))
            yield "punctuation-" + b, lambda b=b: self.words(None, seq(p.Punctuation(b), p.WhitespaceSplit()))
        yield "digits-runs", lambda: self.words(None, seq(p.Digits(), p.WhitespaceSplit()))
        for name, pattern in EXPRESSIONS.items():
            yield "expression-" + name, lambda pattern=pattern: self.words(n.Replace(Regex(pattern), "_·"), split(pattern, "isolated"))

    def modernbert(self):
        t = self.bpe(normalizers.NFC(), pre_tokenizers.ByteLevel(add_prefix_space=False), special_tokens=["[UNK]", "[CLS]", "[SEP]", "[PAD]"])
        t.add_special_tokens([AddedToken("[MASK]", lstrip=True)])
        t.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)] + ["|||IP_ADDRESS|||", "<|padding|>"])
        t.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]", [("[CLS]", 1), ("[SEP]", 2)])
        return t

    def llama2(self, fuse):
        n = normalizers
        t = self.bpe(n.Sequence([n.Prepend("▁"), n.Replace(" ", "▁")]), None, byte=False, size=900, limit_alphabet=80, max_token_length=12,
                     special_tokens=["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)], model={"unk_token": "<unk>", "fuse_unk": fuse})
        return self.changed(t, byte_fallback=not fuse, fuse_unk=fuse)

    def gemma(self):
        t = self.bpe(normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"), byte=False, size=900, limit_alphabet=80, max_token_length=12,
                     special_tokens=["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"] + ["<0x%02X>" % b for b in range(200)], model={"unk_token": "<unk>"})
        t = self.changed(t, byte_fallback=True, fuse_unk=True)
        t.add_tokens(["\n" * k for k in range(2, 9)] + ["▁" * k for k in range(2, 9)] + ["<unused%d>" % k for k in range(50)])
        return t

    def xlmr(self):
        t = self.unigram(normalizers.Precompiled(self.map), pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]))
        t.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
        return t

    def ties(self):
        """Unigram whose tokens have few different scores, so that many splits are equally good."""
        pieces = [("<unk>", 0.0)] + [(s, -float(len(s) % 3)) for s in sorted({w[i:j] for w in ("banana", "the", "ettu", "ab▁") for i in range(len(w)) for j in range(i + 1, len(w) + 1)})]
        return Tokenizer(models.Unigram(pieces, 0))

    def added(self, t):
        t.add_tokens([
            AddedToken("Strip", lstrip=True, rstrip=True), AddedToken("left", lstrip=True, normalized=False), AddedToken("right", rstrip=True, normalized=False),
            AddedToken("word", single_word=True), AddedToken("raw", single_word=True, normalized=False), AddedToken("É", normalized=True), AddedToken("Ünder", normalized=False),
            AddedToken("rightmost", normalized=False), AddedToken("  ", normalized=False), AddedToken("a b", normalized=True)])
        t.add_special_tokens(["<special>", AddedToken("<odd>", normalized=True, special=True)])
        return t


# What the engine of regular expressions has beyond the published patterns.
EXPRESSIONS = {
    "classes": r"[^\W\d_]+|[[:punct:]&&[^$]]|[[:^space:]&&\S]",
    "lazy": r"a.*?e|\w{2,4}?t|\w??x",
    "possessive": r"\w++|\s*+\S?+|a{2}?",
    "behind": r"(?<=\s|^)\w{1,3}|(?<!\p{L})\d+|(?<=a.{1,2})b",
    "atomic": r"(?>a|ab)c?|(?=\w+\s)\w|(?!the)\w+",
    "anchors": r"^\S+|\S+$|\A\s|\b\w|\B\w\Z|\s\z",
    "cases": r"(?i)the|k|[a-m]|é|(?-i:N)|(?m:.)",
    "scripts": r"\p{Han}+|\p{Latin}+|\p{Cyrillic}|\p{^L}|\P{M}|\p{Emoji}",
    "properties": r"\p{Alpha}|\p{Upper}+|\p{Letter}{2}|\p{Sc}|\h{2}|\R|\p{Alnum}|\p{Any}",
    "empty": r"x*|\s*(?=e)",
    "interval": r"\w{,3}|\s{2,}|[aeiou]{1,2}[^aeiou]{0,1}|{",
}


def pools():
    """Lists of strings of which texts are drawn."""
    chars = lambda *ranges: [chr(c) for a, b in ranges for c in range(a, b + 1) if unicodedata.category(chr(c)) != "Cs"]
    return [
        ["the ", "word", " a", "ing", "don't", "WE'LL", "it's ", "Hello", "world", "re", "Strip", " left", "right ", " word ", "raw", "e", "t", "A", "x", "banana", "ettu", "ab"],
        [" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u2028", "\u3000", "\u200b", "\u0085", "\x0b", "\x1c", "\u2581", "\u180e", "\n\n ", "   "],
        list("0123456789") + ["2000", "١٢٣", "½", "²", "Ⅷ", "٫", "৪", "𝟘", "①"],
        list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + ["…", "—", "“", "”", "¿", "。", "、", "»", "''", "``", "$", "€", "™"],
        ["'s", "'S", "'t", "'RE", "'ve", "'m", "'Ll", "'d", "'ſ", "’s", "'"],
        ["É", "é", "e\u0301", "ü", "ß", "ẞ", "İ", "ı", "ſ", "K", "Å", "Å", "ﬁ", "Σ", "ς", "ΑΣ", "Ǆ", "ŉ", "ὒ", "à̖", "ｅ\u0301", "Ａ", "㎏", "ﷺ"],
        chars((0x300, 0x36f), (0x483, 0x489), (0x591, 0x5c7), (0x64b, 0x65f), (0x900, 0x903), (0x93a, 0x94d), (0x1100, 0x1112), (0x1161, 0x1175), (0x11a8, 0x11c2), (0x3099, 0x309a), (0x20d0, 0x20f0)),
        chars((0x4e00, 0x4e40), (0x3041, 0x3096), (0x30a1, 0x30ff), (0xac00, 0xac40), (0x3400, 0x3410), (0x20000, 0x20008), (0x2b820, 0x2b828), (0xf900, 0xf910)),
        chars((0x400, 0x45f), (0x370, 0x3ff), (0x5d0, 0x5ea), (0x620, 0x64a), (0x904, 0x939), (0xe01, 0xe3a), (0x10d0, 0x10ff), (0x1e00, 0x1eff), (0x1f00, 0x1fff)),
        ["😀", "👨\u200d👩\u200d👧", "🇩🇪", "🇫", "👍🏽", "❤\ufe0f", "\u200d", "🏴", "☺", "\ufe0f", "1\ufe0f\u20e3", "©", "a\u200db"],
        ["<s>", "</s>", "<mask>", "[MASK]", "[CLS]", "<unk>", "<pad>", "<0x41>", "<special>", "<odd>", "<mas", "É", "Ünder", "a b", "|||IP_ADDRESS|||", "##", "</w>", "Ġ", "▁", "_", "<unused7>"],
        ["\x00", "\x01", "\x7f", "\u00ad", "\ufeff", "\ufffd", "\ue000", "\U000f0000", "\u0378", "\u061c", "\u2066", "\ufdd0", "\U0010ffff", "\x1f", "\x9f", "\u0603"],
    ]


def drawn(count, seed):
    draw, sets = random.Random(seed), pools()
    out = []
    for _ in range(count):
        chosen = draw.sample(sets, draw.randrange(1, 6)) if draw.random() < 0.8 else sets
        parts = []
        for _ in range(draw.choice((1, 2, 3, 5, 8, 13, 21, 34))):
            if draw.random() < 0.03:
                c = draw.randrange(0x110000)
                parts.append(chr(c) if not 0xD800 <= c < 0xE000 else "?")
            else:
                parts.append(draw.choice(draw.choice(chosen)))
        out.append("".join(parts))
    return out


def code_points(every, seed):
    """Texts with code points alone and between letters, and one beside the next."""
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and (c < 0x3400 and every <= 8 or c % every == seed % every)]
    out = [chr(c) for c in points[::16]]
    for at in range(0, len(points), 64):
        part = [chr(c) for c in points[at:at + 64]]
        out += [" ".join("a" + c + "b" for c in part), "".join(c + "e" for c in part), "".join(part)]
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir")
    parser.add_argument("--strings", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=97)
    parser.add_argument("--only", default="")
    parser.add_argument("--text", nargs="*", default=[])
    args = parser.parse_args()
    os.makedirs(args.dir, exist_ok=True)
    lines = corpus(args.text)
    fixed = lines[:: max(1, len(lines) // 3000)] + code_points(args.every, args.seed)
    if args.text:
        fixed += corpus(args.text)[-2000:]
    with open(os.path.join(args.dir, "texts.jsonl"), "w", encoding="utf-8") as f:
        for text in fixed:
            f.write(json.dumps(text) + "\n")
    only = set(filter(None, args.only.split(",")))
    for n, (name, make) in enumerate(Kinds(lines).all()):
        if only and name not in only:
            continue
        tokenizer = make()
        tokenizer.save(os.path.join(args.dir, name + ".json"))
        tokenizer = Tokenizer.from_file(os.path.join(args.dir, name + ".json"))
        own = drawn(args.strings, args.seed * 1000 + n)
        with open(os.path.join(args.dir, name + ".jsonl"), "w", encoding="utf-8") as f:
            for k, text in enumerate(fixed + own):
                e = tokenizer.encode(text, add_special_tokens=False)
                case = {"ids": e.ids, "words": e.word_ids}
                if k >= len(fixed):
                    case["text"] = text
                f.write(json.dumps(case) + "\n")
        print(name, tokenizer.get_vocab_size(), flush=True)


main()
