"""Trains ten steps with Trainer of transformers on data sets for it, and compares the losses
with train-bert's.

    check_hftrainer.py masked FOLDER RECORDS MODEL METRICS
    check_hftrainer.py unmasked FOLDER RECORDS MODEL METRICS

FOLDER is a data set for hf-trainer, RECORDS what `prepare-data head --json -n 0` says of the
shards it was made from, MODEL a folder with the weights that training began with, METRICS the
metrics.jsonl of a run of train-bert whose batches had all examples of the train split. masked:
the examples have masks, which the collator passes on. unmasked: DataCollatorForLanguageModeling
masks; so that the masks are train-bert's, all tokens are predicted and become [MASK].
"""

import json
import os
import sys
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", HF_HOME=tempfile.mkdtemp())

import datasets
import torch
import transformers
from transformers import AutoTokenizer, BertForMaskedLM, BertForPreTraining, DataCollatorForLanguageModeling, Trainer, TrainingArguments, default_data_collator

TOLERANCE = 1e-4  # of a loss, relative
datasets.disable_progress_bars()


class Recorder(Trainer):
    """A Trainer that keeps the loss of every step: those that it logs are rounded."""

    losses = ()

    def compute_loss(self, *args, **kwargs):
        result = super().compute_loss(*args, **kwargs)
        loss = result[0] if isinstance(result, tuple) else result
        self.losses += (loss.item(),)
        return result


def expected(record):
    """The columns of a record with masks."""
    row = {"input_ids": record["input_ids"], "attention_mask": record["input_mask"], "token_type_ids": record["segment_ids"], "labels": [-100] * len(record["input_ids"])}
    for at, token, weight in zip(record["masked_lm_positions"], record["masked_lm_ids"], record["masked_lm_weights"]):
        if weight:
            row["labels"][at] = token
    if "next_sentence_labels" in record:
        row["next_sentence_label"] = record["next_sentence_labels"][0]
    return row


def compare(data, records, masked):
    want = [expected(r) if masked else {"input_ids": r["input_ids"]} for r in records]
    got = data.to_list()
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        assert g == w, f"row {i}: {g}, want {w}"
    print(f"{len(got)} rows of {sorted(got[0])}: every value equal")


def check_batch(batch, records, tokenizer):
    """A batch of DataCollatorForLanguageModeling attends to all tokens and to no padding."""
    for ids, attended, labels, r in zip(batch["input_ids"].tolist(), batch["attention_mask"].tolist(), batch["labels"].tolist(), records, strict=True):
        n, pad = len(r["input_ids"]), len(ids) - len(r["input_ids"])
        special = {tokenizer.cls_token_id, tokenizer.sep_token_id}
        assert attended == [1] * n + [0] * pad
        assert labels == [-100 if t in special else t for t in r["input_ids"]] + [-100] * pad
        assert ids == [t if t in special else tokenizer.mask_token_id for t in r["input_ids"]] + [tokenizer.pad_token_id] * pad


def main(mode, folder, records, model, metrics):
    with open(records) as f:
        records = [r for r in map(json.loads, f) if os.path.basename(r["file"]).startswith("train-")]
    with open(metrics) as f:
        lines = [line for line in map(json.loads, f) if "mlm_loss" in line]
    data = datasets.load_dataset(folder, split="train")
    compare(data, records, mode == "masked")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if mode == "masked":
        collate = default_data_collator
        bert = BertForPreTraining if "next_sentence_label" in data.column_names else BertForMaskedLM
    else:
        collate, bert = DataCollatorForLanguageModeling(tokenizer, mlm_probability=1.0), BertForMaskedLM
        torch.bernoulli = lambda p, **_: (p > 0.6).float()  # all tokens, of which 0.8 become [MASK] and 0.5 of the others a random token
        check_batch(collate(data.to_list()), records, tokenizer)
    arguments = TrainingArguments(output_dir=tempfile.mkdtemp(), max_steps=len(lines), per_device_train_batch_size=len(records), learning_rate=lines[0]["learning_rate"], warmup_steps=0,
                                  lr_scheduler_type="linear", weight_decay=0.01, adam_epsilon=1e-6, max_grad_norm=1.0, use_cpu=True, report_to=[], save_strategy="no", logging_steps=1, disable_tqdm=True)
    trainer = Recorder(model=bert.from_pretrained(model), args=arguments, train_dataset=data, data_collator=collate)
    trainer.train()
    assert len(lines) == len(trainer.losses) == 10 and lines[-1]["loss"] < lines[0]["loss"] - 0.5, "no ten steps, or the model does not learn"
    for line, loss in zip(lines, trainer.losses):
        assert abs(loss - line["loss"]) <= TOLERANCE * line["loss"], f"step {line['step']}: loss {loss}, train-bert computes {line['loss']}"
    print(f"transformers {transformers.__version__}: the losses of ten steps, {lines[0]['loss']:.4f} to {lines[-1]['loss']:.4f}, are train-bert's within {TOLERANCE}")


main(*sys.argv[1:])
