"""Holds what the loaders of NVIDIA's BERT read against the records.

    check_nvidia.py lddl DIR RECORDS           by the package lddl, as run_pretraining.py of DeepLearningExamples does
    check_nvidia.py nvidia-bert DIR RECORDS    by the rules of its loader of HDF5, of the version before LDDL

DIR is what `prepare-data convert SHARDS --for CONSUMER` wrote, RECORDS what `prepare-data
head SHARDS --json -n 0` says of the shards.
"""

import collections
import json
import logging
import os
import sys

import numpy


def sample(ids, segments, mask, labels, label):
    """What a model gets of an example, without the padding."""
    n = int(sum(mask))
    assert not any(mask[n:]) and not any(ids[n:]) and not any(segments[n:]) and all(l == -1 for l in labels[n:])
    return tuple(map(tuple, (ids[:n], segments[:n], labels[:n]))) + (int(label),)


def expected(records):
    """The same of the records of the train split."""
    samples = collections.Counter()
    for r in map(json.loads, open(records)):
        if not os.path.basename(r["file"]).startswith("train-"):
            continue
        labels = [-1] * len(r["input_ids"])
        for at, label, weight in zip(r["masked_lm_positions"], r["masked_lm_ids"], r["masked_lm_weights"]):
            if weight:
                labels[at] = label
        label = r["next_sentence_labels"]
        samples[sample(r["input_ids"], r["segment_ids"], r["input_mask"], labels, label[0] if isinstance(label, list) else label)] += 1
    return samples


def lddl_torch(folder):
    """The samples of an epoch, by two workers."""
    import lddl.torch
    folder = os.path.join(folder, "train") if os.path.isdir(os.path.join(folder, "train")) else folder
    loader = lddl.torch.get_bert_pretrain_data_loader(folder, vocab_file=os.path.join(folder, "vocab.txt"), log_level=logging.ERROR,
                                                      data_loader_kwargs={"batch_size": 8, "num_workers": 2})
    names = ("input_ids", "token_type_ids", "attention_mask", "labels")
    for batch in loader:
        yield from zip(*(batch[name].tolist() for name in names), batch["next_sentence_labels"].tolist())


def nvidia_bert(folder):
    """The samples of all files whose name has "training". With a single one, that program waits for ever."""
    import h5py
    files = sorted(f for f in os.listdir(folder) if os.path.isfile(os.path.join(folder, f)) and "training" in f)
    assert len(files) > 1, files
    for name in files:
        with h5py.File(os.path.join(folder, name), "r") as f:
            arrays = [numpy.asarray(f[k][:]).astype(numpy.int64) for k in ("input_ids", "input_mask", "segment_ids", "masked_lm_positions", "masked_lm_ids", "next_sentence_labels")]
        for ids, mask, segments, positions, originals, label in zip(*arrays):
            end = numpy.flatnonzero(positions == 0)
            end = end[0] if len(end) else len(positions)
            labels = numpy.full(len(ids), -1)
            labels[positions[:end]] = originals[:end]
            yield ids.tolist(), segments.tolist(), mask.tolist(), labels.tolist(), label


def main(kind, folder, records):
    want = expected(records)
    got = collections.Counter(sample(*s) for s in {"lddl": lddl_torch, "nvidia-bert": nvidia_bert}[kind](folder))
    assert not got - want, f"{sum((got - want).values())} samples are of no record"
    tokens = [sum(len(s[0]) * n for s, n in samples.items()) for samples in (got, want)]
    assert tokens[0] >= 0.995 * tokens[1] > 0, f"{tokens[0]} of {tokens[1]} tokens"
    assert kind == "lddl" or got == want
    print(f"{kind}: {sum(got.values())} of {sum(want.values())} examples, {tokens[0] / tokens[1]:.2%} of the tokens, every value equal")


main(*sys.argv[1:])
