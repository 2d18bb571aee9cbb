"""Trains tokenizers with Hugging Face's library: train_tokenizers.py FOLDER LINES

Writes FOLDER/KIND.json for the kinds of published models. Each has 16,000 tokens.
"""
import json
import sys

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

FOLDER, LINES = sys.argv[1:]
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

with open(LINES, encoding="utf-8", newline="\n") as f:
    lines = f.read().split("\n")[:-1]


def bpe(normalizer, splitter, **options):
    t = Tokenizer(models.BPE(unk_token="[UNK]" if "limit_alphabet" in options else None))
    if normalizer is not None:
        t.normalizer = normalizer
    t.pre_tokenizer = splitter
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=16000, special_tokens=SPECIALS, show_progress=False, **options))
    return t


def save(kind, tokenizer, **model):
    data = json.loads(tokenizer.to_str())
    if kind == "llama2":  # its merges never cross a space, its file does not split
        data["pre_tokenizer"] = None
        data["added_tokens"] = data["added_tokens"][: len(SPECIALS)]
    data["model"].update(model)
    with open("%s/%s.json" % (FOLDER, kind), "w", encoding="utf-8") as f:
        json.dump(data, f)


alphabet = pre_tokenizers.ByteLevel.alphabet()
save("gpt2", bpe(None, pre_tokenizers.ByteLevel(add_prefix_space=False), initial_alphabet=alphabet))
split = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
save("llama3", bpe(None, split, initial_alphabet=alphabet), ignore_merges=True)
spaces = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
llama2 = bpe(spaces, pre_tokenizers.Split("▁", "merged_with_next"), limit_alphabet=3000)
save("llama2", llama2, fuse_unk=True)
unigram = Tokenizer(models.Unigram())
unigram.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
unigram.pre_tokenizer = pre_tokenizers.Metaspace()
unigram.train_from_iterator(lines, trainers.UnigramTrainer(vocab_size=16000, unk_token="[UNK]", special_tokens=SPECIALS, show_progress=False))
save("unigram", unigram)
