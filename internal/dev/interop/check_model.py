"""Holds models of train-bert against transformers, in both directions.

    python check_model.py make DIR --vocab VOCAB       writes a model of transformers, random, as a folder
    python check_model.py compare DIR LOSSES RECORDS   loads a folder with transformers and compares its losses

LOSSES is what `train-bert eval DIR --data SHARDS --eval-examples 0 --json` says, RECORDS what
`prepare-data head SHARDS --json -n 0` does; the eval shards are used. The folder must load without a
missing or unexpected tensor, and the losses must agree.
"""

import argparse
import json
import os
import shutil
import sys

import torch
from transformers import BertConfig, BertForPreTraining, BertTokenizer

TOLERANCE = 2e-6  # of a loss, relative: both compute in single precision
BATCH = 16


def make(args):
    torch.manual_seed(7)
    dropout = {"hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0} if args.no_dropout else {}
    with open(args.vocab, encoding="utf-8") as f:
        size = len(f.read().splitlines())
    config = BertConfig(vocab_size=size, hidden_size=96, num_hidden_layers=3, num_attention_heads=4, intermediate_size=200,
                        hidden_act="gelu", initializer_range=args.range, **dropout)
    model = BertForPreTraining(config)
    with torch.no_grad():  # biases and LayerNorms are no longer 0 and 1, so that a mix-up shows
        for p in model.parameters():
            p.add_(args.range / 2 * torch.randn_like(p))
    model.save_pretrained(args.dir, safe_serialization=True)
    shutil.copy(args.vocab, os.path.join(args.dir, "vocab.txt"))


def load(path):
    model, info = BertForPreTraining.from_pretrained(path, output_loading_info=True)
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"):
        if info[what]:
            sys.exit(f"{path}: transformers reports {what}: {info[what]}")
    model.eval()
    return model


def held_out(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            record = json.loads(line)
            if os.path.basename(record["file"]).startswith("eval-"):
                yield record


def losses(model, records):
    """The losses of run_pretraining.py: mean over masked tokens, and over pairs."""
    mlm, weight, nsp = 0.0, 0.0, 0.0
    column = lambda part, name, kind=torch.long: torch.tensor([r[name] for r in part], dtype=kind)
    for at in range(0, len(records), BATCH):
        part = records[at:at + BATCH]
        with torch.no_grad():
            out = model(input_ids=column(part, "input_ids"), attention_mask=column(part, "input_mask"),
                        token_type_ids=column(part, "segment_ids"))
        rows = torch.arange(len(part)).unsqueeze(1)
        logits = out.prediction_logits[rows, column(part, "masked_lm_positions")].double().log_softmax(-1)
        w = column(part, "masked_lm_weights", torch.double)
        mlm -= (w * logits.gather(-1, column(part, "masked_lm_ids").unsqueeze(-1)).squeeze(-1)).sum().item()
        weight += w.sum().item()
        pairs = out.seq_relationship_logits.double().log_softmax(-1)
        nsp -= pairs.gather(-1, column(part, "next_sentence_labels")).sum().item()
    return {"eval_mlm_loss": mlm / (weight + 1e-5), "eval_nsp_loss": nsp / len(records)}


def compare(args):
    records = list(held_out(args.records))
    with open(args.losses, encoding="utf-8") as f:
        ours = json.load(f)
    if ours["eval_examples"] != len(records) or not records:
        sys.exit(f"{args.losses}: {ours['eval_examples']} examples, {args.records} has {len(records)}")
    for name, want in losses(load(args.dir), records).items():
        if abs(ours[name] - want) > TOLERANCE * want:
            sys.exit(f"{args.dir}: {name} {ours[name]}, transformers computes {want}")
        print(f"{args.dir}: {name} {ours[name]:.7f}, transformers {want:.7f}")
    if os.path.exists(os.path.join(args.dir, "tokenizer_config.json")):
        tokenizer = BertTokenizer.from_pretrained(args.dir)
        if len(tokenizer) != ours_size(args.dir):
            sys.exit(f"{args.dir}: a tokenizer of {len(tokenizer)} tokens")


def ours_size(path):
    with open(os.path.join(path, "config.json"), encoding="utf-8") as f:
        return json.load(f)["vocab_size"]


def main():
    p = argparse.ArgumentParser()
    commands = p.add_subparsers(required=True)
    c = commands.add_parser("make")
    c.add_argument("dir")
    c.add_argument("--vocab", required=True)
    c.add_argument("--no-dropout", action="store_true")
    c.add_argument("--range", type=float, default=0.2)  # of the weights
    c.set_defaults(run=make)
    c = commands.add_parser("compare")
    c.add_argument("dir")
    c.add_argument("losses")
    c.add_argument("records")
    c.set_defaults(run=compare)
    args = p.parse_args()
    args.run(args)


main()
