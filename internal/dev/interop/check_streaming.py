"""Reads data sets for loaders of MosaicML streaming as these loaders do, and compares them
with the records.

    check_streaming.py modernbert FOLDER RECORDS DOCUMENTS
    check_streaming.py mosaicbert FOLDER RECORDS DOCUMENTS
    check_streaming.py streaming FOLDER RECORDS
    check_streaming.py train FOLDER RECORDS MODEL METRICS

FOLDER is what `convert --for` wrote, RECORDS what `prepare-data head --json -n 0` says of the
shards, DOCUMENTS what it says of the same documents uncut (recipe tokens). The library, its workers and the collators of transformers are the real ones; the
classes below follow the rules of the data sets of ModernBERT (src/text_data.py, 8c57a0f0) and
MosaicBERT (examples/benchmarks/bert/src/text_data.py, daddaeff), which no registry has. train:
ten steps through StreamingDataLoader have the losses of METRICS, the metrics.jsonl of a run of
train-bert that began with the weights in MODEL and whose batches had all examples.
"""

import json
import os
import sys
import tempfile

import numpy
import streaming
import torch
from streaming.base.format import reader_from_json
from torch.utils.data import DataLoader, Dataset
from transformers import AutoTokenizer, BertForPreTraining, DataCollatorForLanguageModeling

TOLERANCE = 1e-4  # of a loss, relative
SEEN = 0.995  # of the tokens
SPLITS = {"modernbert": {"train": "train", "val": "eval"}, "mosaicbert": {"train": "train", "val": "eval"}, "streaming": {"train": "train", "eval": "eval"}}


class Library(streaming.StreamingDataset):
    """From a copy, as from a bucket."""

    def __init__(self, folder, split, batch, shuffle=False):
        super().__init__(remote=folder, local=tempfile.mkdtemp(), split=split, shuffle=shuffle, batch_size=batch, num_canonical_nodes=1)


class Padded(Library):
    """ModernBERT's data set for streams: bytes of int64, padded to the length or cut."""

    def __init__(self, folder, split, batch, length, pad):
        super().__init__(folder, split, batch)
        self.length, self.pad = length, pad

    def __getitem__(self, at):
        given = super().__getitem__(at)["input_ids"]
        ids = numpy.frombuffer(given, numpy.int64)[:self.length].tolist()
        room = max(0, self.length - len(given))
        return {"input_ids": ids + [self.pad] * room, "attention_mask": [1] * len(ids) + [0] * room}


class Local(Dataset):
    """ModernBERT's data set for local files: no compression; arrays of any type, cut."""

    def __init__(self, folder, split, length):
        with open(os.path.join(folder, split, "index.json")) as f:
            shards = [reader_from_json(folder, split, entry) for entry in json.load(f)["shards"]]
        for shard in shards:
            path = os.path.join(folder, split, shard.raw_data.basename)
            assert os.path.isfile(path), f"{path} is missing"
        self.rows, self.length = [(shard, i) for shard in shards for i in range(shard.samples)], length

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        shard, i = self.rows[at]
        row = {k: v[:self.length] for k, v in shard[i].items() if isinstance(v, numpy.ndarray)}
        return {"attention_mask": numpy.ones_like(row["input_ids"]), **row}


class Joined(Library):
    """MosaicBERT's data set: bytes of int64, and no mask."""

    def __init__(self, folder, split, batch, length):
        super().__init__(folder, split, batch)
        self.length = length

    def __getitem__(self, at):
        return torch.from_numpy(numpy.frombuffer(super().__getitem__(at)["tokens"], numpy.int64)[:self.length].copy())


def batches(dataset, tokenizer, batch):
    """What the collator of both programs makes in two workers, the masks taken off again."""
    collate = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.3)
    for made in DataLoader(dataset, batch_size=batch, num_workers=2, collate_fn=collate):
        ids = torch.where(made["labels"] == -100, made["input_ids"], made["labels"])
        mask = made.get("attention_mask", torch.ones_like(ids))
        masked = (made["labels"] != -100) & (mask == 0)
        assert not masked.any(), "padding is predicted"
        yield from ([tuple(row) for row in pair] for pair in zip(ids.tolist(), mask.tolist()))


def compare(what, rows, records, tokenizer, tokens):
    """Every row with its attention, in any order; the share of the tokens that are seen."""
    real = [tuple(ids[:sum(mask)]) for ids, mask in rows]
    assert all(mask == (1,) * sum(mask) + (0,) * (len(mask) - sum(mask)) for _, mask in rows), f"{what}: attention has gaps"
    assert sorted(real) == sorted(tuple(r["input_ids"]) for r in records), f"{what}: other rows than the records"
    assert {row[0] for row in real} == {tokenizer.cls_token_id}, f"{what}: rows do not begin with [CLS]"
    special = {tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id}
    seen = sum(token not in special for row in real for token in row) / tokens
    assert SEEN <= seen <= 1, f"{what}: {seen:.3f} of the tokens"
    print(f"streaming {streaming.__version__}, {what}: {len(rows)} rows, every id and the attention equal, {seen:.2%} of the tokens seen")


def datasets(kind, folder, split, length, tokenizer):
    if kind == "mosaicbert":
        return [Joined(folder, split, 8, length)]
    return [Padded(folder, split, 8, length, tokenizer.pad_token_id), Local(folder, split, length)]


def read(kind, folder, path, documents=None):
    for split, ours in SPLITS[kind].items():
        want = load(path, ours)
        if kind == "streaming":
            library(folder, split, want)
            continue
        tokenizer = AutoTokenizer.from_pretrained(os.path.join(folder, split))
        tokens = sum(len(r["input_ids"]) for r in load(documents, ours))
        for dataset in datasets(kind, folder, split, max(len(r["input_ids"]) for r in want), tokenizer):
            compare(f"{kind}: {split}: {type(dataset).__name__}", list(batches(dataset, tokenizer, 8)), want, tokenizer, tokens)


def load(path, split):
    with open(path, encoding="utf-8") as f:
        found = [r for r in map(json.loads, f) if os.path.basename(r["file"]).startswith(split + "-")]
    assert found, f"{path} has no records of {split}"
    return found


def columns(records):
    return [c for c in records[0] if c not in ("file", "record", "tokens", "masked_lm_tokens", "texts")]


def library(folder, split, want):
    """An epoch of StreamingDataLoader in two workers has every column of every record once."""
    names = columns(want)
    got = []
    for made in streaming.StreamingDataLoader(Library(folder, split, 8, shuffle=True), batch_size=8, num_workers=2):
        assert all(made[c].dtype == (torch.float32 if c == "masked_lm_weights" else torch.int64) for c in names), made
        got += zip(*(map(tuple, made[c].tolist()) for c in names))
    expected = [tuple(tuple(r[c]) for c in names) for r in want]
    assert got != expected and sorted(got) == sorted(expected), f"streaming: {split}: other rows than the records"
    print(f"streaming {streaming.__version__}, {split}: {len(got)} rows of {len(names)} columns equal")


def losses(model, batch, weight, examples):
    """The share of a batch in the losses of run_pretraining.py."""
    out = model(input_ids=batch["input_ids"], attention_mask=batch["input_mask"], token_type_ids=batch["segment_ids"])
    rows = torch.arange(len(batch["input_ids"])).unsqueeze(1)
    logits = out.prediction_logits[rows, batch["masked_lm_positions"]].log_softmax(-1)
    words = -(logits.gather(-1, batch["masked_lm_ids"].unsqueeze(-1)).squeeze(-1) * batch["masked_lm_weights"]).sum() / weight
    pairs = -out.seq_relationship_logits.log_softmax(-1).gather(-1, batch["next_sentence_labels"]).sum() / examples
    return words + pairs


def train(folder, path, weights, metrics):
    """Each worker gives half of the batch of every step."""
    records = load(path, "train")
    with open(metrics) as f:
        lines = [line for line in map(json.loads, f) if "mlm_loss" in line]
    weight, half = sum(sum(r["masked_lm_weights"]) for r in records), -(-len(records) // 2)
    loader = streaming.StreamingDataLoader(Library(folder, "train", half, shuffle=True), batch_size=half, num_workers=2)
    model = BertForPreTraining.from_pretrained(weights).train()
    plain = [n for n, _ in model.named_parameters() if n.endswith("bias") or "LayerNorm" in n]
    groups = [{"params": [p for n, p in model.named_parameters() if (n in plain) == flat], "weight_decay": 0.0 if flat else 0.01} for flat in (False, True)]
    optimizer = torch.optim.AdamW(groups, lr=lines[0]["learning_rate"], eps=1e-6)
    assert len(lines) == 10 and lines[-1]["loss"] < lines[0]["loss"] - 0.5, "no ten steps, or the model does not learn"
    for line in lines:
        made = list(loader)
        assert len(made) == 2 and sum(len(b["input_ids"]) for b in made) == len(records), "the two workers do not give all examples"
        for group in optimizer.param_groups:
            group["lr"] = line["learning_rate"]
        optimizer.zero_grad()
        total = 0.0
        for batch in made:
            loss = losses(model, batch, weight, len(records))
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        assert abs(total - line["loss"]) <= TOLERANCE * line["loss"], f"step {line['step']}: loss {total}, train-bert computes {line['loss']}"
    print(f"streaming: the losses of ten steps, {lines[0]['loss']:.4f} to {lines[-1]['loss']:.4f}, are train-bert's within {TOLERANCE}")


if __name__ == "__main__":
    if sys.argv[1] == "train":
        train(*sys.argv[2:])
    else:
        read(*sys.argv[1:])
