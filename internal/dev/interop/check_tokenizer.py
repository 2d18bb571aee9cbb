"""Holds checkpoints with a tokenizer.json against transformers.

    python check_tokenizer.py make DIR           writes DIR/bpe.json and DIR/wordpiece.json, trained here, and DIR/lines.jsonl
    python check_tokenizer.py compare MODEL IDS  loads MODEL with transformers, whose tokens must be those of IDS

IDS is what `prepare-data tokenize --tokenizer FILE --jsonl < DIR/lines.jsonl` says. The tokenizer that
transformers finds beside the model must have its special tokens, as many tokens as the model, and the same
ids for every line.
"""

import argparse
import json
import os
import sys

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, BertForPreTraining, PreTrainedTokenizerFast

TEXT = [
    "The river was high that spring, and the ferry did not cross for nine days.",
    "Nobody in the village minded: there was bread, there was wood, and there were stories.",
    "On the tenth day a boy saw smoke on the other bank.",
    "\"Somebody has lit a fire,\" he said, \"and somebody wants to come home.\"",
    "They rowed across in the small boat, which took water at every stroke.",
    "It was the miller's daughter, who had walked 40 miles round by the bridge.",
]
# What is hard: no word of the training text, accents, other scripts, spaces, nothing.
HARD = ["Zürich, naïve, Ωmega - 12,345.67 €", "東京は大きい。", "  two  spaces\tand a tab ", "don't I'll we've", "x" * 60, "emoji 🙂 and a \u200b mark", ""]


def bpe():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    t.train_from_iterator(TEXT * 5, trainers.BpeTrainer(vocab_size=400, special_tokens=special, show_progress=False,
                                                        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return t


def wordpiece():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t.train_from_iterator(TEXT * 5, trainers.WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False))
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return t


def make(args):
    os.makedirs(args.dir, exist_ok=True)
    bpe().save(os.path.join(args.dir, "bpe.json"))
    wordpiece().save(os.path.join(args.dir, "wordpiece.json"))
    with open(os.path.join(args.dir, "lines.jsonl"), "w", encoding="utf-8") as f:
        for line in TEXT + HARD:
            f.write(json.dumps({"text": line}) + "\n")


def compare(args):
    fast = PreTrainedTokenizerFast.from_pretrained(args.dir)
    auto = AutoTokenizer.from_pretrained(args.dir)
    model, info = BertForPreTraining.from_pretrained(args.dir, output_loading_info=True)
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"):
        if info[what]:
            sys.exit(f"{args.dir}: transformers reports {what}: {info[what]}")
    if not len(fast) == len(auto) == model.config.vocab_size:
        sys.exit(f"{args.dir}: tokenizers of {len(fast)} and {len(auto)} tokens, a model of {model.config.vocab_size}")
    for name in ("cls_token", "sep_token", "pad_token", "mask_token"):
        if getattr(fast, name) is None or getattr(fast, name + "_id") >= model.config.vocab_size:
            sys.exit(f"{args.dir}: the tokenizer has no {name}")
    lines = TEXT + HARD
    with open(args.ids, encoding="utf-8") as f:
        ours = [json.loads(line)["ids"] for line in f]
    if len(ours) != len(lines):
        sys.exit(f"{args.ids}: {len(ours)} lines, want {len(lines)}")
    for line, want in zip(lines, ours):
        for tokenizer in (fast, auto):
            got = tokenizer(line, add_special_tokens=False)["input_ids"]
            if got != want:
                sys.exit(f"{args.dir}: {line!r}: transformers has the ids {got}, prepare-data {want}")
    with torch.no_grad():  # and the model takes them
        batch = fast(lines[0], return_tensors="pt")
        out = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
    if not torch.isfinite(out.prediction_logits).all():
        sys.exit(f"{args.dir}: the model's logits are not finite")
    print(f"{args.dir}: {len(lines)} lines, {sum(map(len, ours))} ids, equal in transformers")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    p = commands.add_parser("make")
    p.add_argument("dir")
    p.set_defaults(run=make)
    p = commands.add_parser("compare")
    p.add_argument("dir")
    p.add_argument("ids")
    p.set_defaults(run=compare)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
