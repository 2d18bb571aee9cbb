"""Training speed of BERT on the processor: train-bert and PyTorch, in one run.

    python torch_step.py TRAIN_BERT SHARDS RECORDS.jsonl [--models tiny,mini,small] [--examples full,shards] [--threads 1] [--isa avx2] [--rounds 5] [--seconds 2]

RECORDS is the output of `prepare-data head SHARDS --json -n 0`. turns.py says how speeds are measured; tokens of
padding do not count.

PyTorch's model is transformers' BertForPreTraining with dropout and clipping, set up as it is fastest: sdpa, fused AdamW, the
masked-LM head on the masked positions alone, and memory that is kept between steps; once as it is, and once through torch.compile.
Batches are 8 examples: full ones of 128 tokens with 20 masked each, made up, and those of SHARDS, which PyTorch pads
to 128 and train-bert does not.
"""

import json
import os
import random

import turns

args = turns.flags("shards", "records", models="tiny,mini", examples="full,shards")

import torch  # noqa: E402  (reads the variables)
import torch._inductor.config  # noqa: E402
from transformers import BertConfig, BertForPreTraining  # noqa: E402

torch.set_num_threads(args.threads)
torch.set_flush_denormal(True)
if args.isa == "avx2":
    torch._inductor.config.cpp.simdlen = 256
BATCH, LENGTH, MASKED, VOCAB = 8, 128, 20, 30522
SIZES = {"tiny": (2, 128), "mini": (4, 256), "small": (4, 512), "base": (12, 768)}


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
        # Masked tokens as indexes into all tokens of the batch; -100 is a label that does not count.
        b["masked"] = (torch.arange(BATCH)[:, None] * LENGTH + b["masked_lm_positions"]).view(-1)
        b["labels"] = torch.where(b["weights"] > 0, b["masked_lm_ids"], -100).view(-1)
        b["pairs"] = b["next_sentence_labels"].view(-1)
        b["mask"] = None if bool(b["input_mask"].all()) else b["input_mask"]
        out.append(b)
    return out


class Torch(turns.Peer):
    def __init__(self, size, data, compiled):
        layers, hidden = SIZES[size]
        torch.manual_seed(1)
        self.model = BertForPreTraining(BertConfig(vocab_size=VOCAB, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=hidden // 64,
                                                   intermediate_size=4 * hidden, hidden_act="gelu_new", attn_implementation="sdpa"))
        self.model.train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
        self.loss = torch.compile(self.losses) if compiled else self.losses
        self.data, self.at = batches(data), 0

    def losses(self, ids, mask, segments, masked, labels, pairs):
        hidden, pooled = self.model.bert(input_ids=ids, attention_mask=mask, token_type_ids=segments, return_dict=False)
        logits = self.model.cls.predictions(hidden.view(-1, hidden.shape[-1])[masked])
        entropy = torch.nn.functional.cross_entropy
        return entropy(logits, labels) + entropy(self.model.cls.seq_relationship(pooled), pairs)

    def step(self):
        b = self.data[self.at % len(self.data)]
        self.at += 1
        self.loss(b["input_ids"], b["mask"], b["segment_ids"], b["masked"], b["labels"], b["pairs"]).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return b["tokens"]


def main():
    random.seed(1)
    global VOCAB
    lengths = real(args.records)
    filled = sum(sum(e["input_mask"]) for e in lengths) / len(lengths) / LENGTH
    print(f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {args.threads} thread(s), {args.rounds} rounds; examples of the shards are {filled:.0%} full\n")
    print("| model | examples | train-bert, tokens/s | PyTorch | PyTorch, compiled | ratio to the faster (least to greatest) |")
    print("|---|---|---:|---:|---:|---:|")
    with open(os.path.join(args.shards, "vocab.txt"), encoding="utf-8") as f:
        vocab = len(f.read().splitlines())
    for size in args.models.split(","):
        for what in args.examples.split(","):
            shards, data = (None, full(None)) if what == "full" else (args.shards, lengths)
            VOCAB = vocab if shards else 30522
            ours = turns.Ours(args, "--train-batch-size", BATCH, "--model", size, *(["--data", shards] if shards else []))
            torch._dynamo.reset()
            s = turns.Speeds(args, ours, Torch(size, data, False), Torch(size, data, True))
            print(f"| {size} | {what} | {s.median(0):,.0f} | {s.median(1):,.0f} | {s.median(2):,.0f} | {s.ratio()} |", flush=True)


main()
