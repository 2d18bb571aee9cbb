"""Training speed of BERT on the processor: train-bert and PyTorch, in one run.

    python torch_step.py TRAIN_BERT SHARDS RECORDS.jsonl [--models tiny,mini] [--threads 1] [--rounds 5] [--seconds 2]

RECORDS is the output of `prepare-data head SHARDS --json -n 0`. turns.py says how speeds are measured; tokens of
padding do not count.

PyTorch's model is transformers' BertForPreTraining with dropout, clipping and AdamW: with the head on all
positions, as transformers computes it, and with the head on the masked positions alone. Batches are 8
examples: full ones of 128 tokens with 20 masked each, made up, and those of SHARDS, which PyTorch pads
to 128 and train-bert does not.
"""

import json
import os
import random

import turns

args = turns.flags("shards", "records", models="tiny,mini")

import torch  # noqa: E402  (reads the variables)
from transformers import BertConfig, BertForPreTraining  # noqa: E402

torch.set_num_threads(args.threads)
BATCH, LENGTH, MASKED, VOCAB = 8, 128, 20, 30522
SIZES = {"tiny": (2, 128), "mini": (4, 256), "small": (4, 512)}


def full(_):
    def example():
        at = random.sample(range(1, LENGTH - 1), MASKED)
        return {"input_ids": [random.randrange(VOCAB) for _ in range(LENGTH)], "input_mask": [1] * LENGTH,
                "segment_ids": [i // 64 for i in range(LENGTH)], "masked_lm_positions": sorted(at),
                "masked_lm_ids": [random.randrange(VOCAB) for _ in at], "masked_lm_weights": [1.0] * MASKED,
                "next_sentence_labels": [0]}
    return [example() for _ in range(BATCH * 8)]


def real(path):
    examples = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            r = json.loads(line)
            if os.path.basename(r["file"]).startswith("train-"):
                examples.append(r)
    random.shuffle(examples)
    return examples[:BATCH * 64]


def batches(examples):
    out = []
    for at in range(0, len(examples) - BATCH + 1, BATCH):
        part = examples[at:at + BATCH]
        column = lambda name, kind=torch.long: torch.tensor([e[name] for e in part], dtype=kind)
        b = {n: column(n) for n in ("input_ids", "input_mask", "segment_ids", "masked_lm_positions", "masked_lm_ids", "next_sentence_labels")}
        b["weights"] = column("masked_lm_weights", torch.float)
        b["tokens"] = int(b["input_mask"].sum())
        everywhere = torch.full_like(b["input_ids"], -100)
        for row, e in enumerate(part):
            for p, i, w in zip(e["masked_lm_positions"], e["masked_lm_ids"], e["masked_lm_weights"]):
                if w > 0:
                    everywhere[row, p] = i
        b["labels"] = everywhere
        out.append(b)
    return out


class Torch(turns.Peer):
    def __init__(self, size, data, masked):
        layers, hidden = SIZES[size]
        torch.manual_seed(1)
        self.model = BertForPreTraining(BertConfig(vocab_size=VOCAB, hidden_size=hidden, num_hidden_layers=layers,
                                                   num_attention_heads=hidden // 64, intermediate_size=4 * hidden, hidden_act="gelu_new"))
        self.model.train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, weight_decay=0.01)
        self.data, self.masked, self.at = batches(data), masked, 0

    def loss(self, b):
        if not self.masked:
            return self.model(input_ids=b["input_ids"], attention_mask=b["input_mask"], token_type_ids=b["segment_ids"],
                              labels=b["labels"], next_sentence_label=b["next_sentence_labels"]).loss
        hidden, pooled = self.model.bert(input_ids=b["input_ids"], attention_mask=b["input_mask"], token_type_ids=b["segment_ids"], return_dict=False)
        keep = b["weights"] > 0
        rows = torch.arange(len(keep)).unsqueeze(1).expand_as(keep)[keep]
        logits = self.model.cls.predictions(hidden[rows, b["masked_lm_positions"][keep]])
        pairs = self.model.cls.seq_relationship(pooled)
        entropy = torch.nn.functional.cross_entropy
        return entropy(logits, b["masked_lm_ids"][keep]) + entropy(pairs, b["next_sentence_labels"].view(-1))

    def step(self):
        b = self.data[self.at % len(self.data)]
        self.at += 1
        self.loss(b).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return b["tokens"]


def main():
    random.seed(1)
    global VOCAB
    lengths = real(args.records)
    filled = sum(sum(e["input_mask"]) for e in lengths) / len(lengths) / LENGTH
    print(f"torch {torch.__version__}, {args.threads} thread(s), {args.rounds} rounds; examples of the shards are {filled:.0%} full\n")
    print("| model | examples | train-bert, tokens/s | PyTorch, masked head | ratio (least to greatest) | PyTorch, all positions | ratio |")
    print("|---|---|---:|---:|---:|---:|---:|")
    with open(os.path.join(args.shards, "vocab.txt"), encoding="utf-8") as f:
        vocab = len(f.read().splitlines())
    for size in args.models.split(","):
        for what, shards, data in (("full", None, full(None)), ("of the shards", args.shards, lengths)):
            VOCAB = vocab if shards else 30522
            ours = turns.Ours(args, "--train-batch-size", BATCH, "--model", size, *(["--data", shards] if shards else []))
            ours, masked, ratio, everywhere, other = turns.measure(args, ours, Torch(size, data, True), Torch(size, data, False))
            print(f"| {size} | {what} | {ours:,.0f} | {masked:,.0f} | {ratio} | {everywhere:,.0f} | {other.split()[0]} |", flush=True)


main()
