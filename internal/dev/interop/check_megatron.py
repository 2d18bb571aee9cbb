"""Holds what Megatron-LM's BERT dataset reads against the records.

    check_megatron.py DIR RECORDS [LENGTH]

DIR has shards of the format megatron, made of the recipe sentences; RECORDS is what
`prepare-data head SHARDS --json -n 0` says of the same. BERTMaskedWordPieceDataset of
megatron-core makes samples of LENGTH tokens of them, with pairs and without. Every
sentence is one of the records, every sample text of one document, and its masks, types,
padding and labels are those of BERT.
"""

import glob
import json
import os
import sys
import tempfile
import types

import numpy


def load_megatron():
    """Makes its data sets importable: all of its package needs a newer torch, and a GPU's libraries."""
    base = next(p for p in sys.path if os.path.isdir(os.path.join(p, "megatron", "core", "datasets")))
    for name in ["megatron", "megatron.core", "megatron.core.datasets"]:
        module = types.ModuleType(name)
        module.__path__ = [os.path.join(base, *name.split("."))]
        sys.modules[name] = module
    for name, content in {"utils": {"log_single_rank": lambda *a, **k: None}, "tokenizers": {"MegatronTokenizerBase": object}, "parallel_state": {}}.items():
        module = types.ModuleType("megatron.core." + name)
        module.__dict__.update(content)
        sys.modules[module.__name__] = module
        setattr(sys.modules["megatron.core"], name, module)


class Tokenizer:
    """What the data set asks of Megatron's BertWordPiece tokenizers."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.inv_vocab = dict(enumerate(f.read().split("\n")[:-1]))
        ids = {token: i for i, token in self.inv_vocab.items()}
        self.cls, self.sep, self.mask, self.pad = (ids[t] for t in ("[CLS]", "[SEP]", "[MASK]", "[PAD]"))
        self.unique_identifiers = {"vocab": path}


def build(folder, length, pairs, tokenizer, cache):
    """The data sets of train and eval, of one epoch, as examples/bert/pretrain_bert.py builds them from --train-data-path and --valid-data-path."""
    from megatron.core.datasets.bert_dataset import BERTMaskedWordPieceDataset, BERTMaskedWordPieceDatasetConfig
    from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
    from megatron.core.datasets.utils import get_blend_from_list
    blends = []
    for split in ("train", "eval"):
        arguments = []
        for path in sorted(glob.glob(os.path.join(folder, split + "-*.bin"))):
            if size := os.path.getsize(path):  # it maps no empty file, and of several files without weights it makes no samples
                arguments += [str(size), path.removesuffix(".bin")]
        blends.append(get_blend_from_list(arguments or None))
    config = BERTMaskedWordPieceDatasetConfig(
        random_seed=1234, sequence_length=length, blend_per_split=[*blends, None], path_to_cache=cache, tokenizer=tokenizer,
        masking_probability=0.15, short_sequence_probability=0.1, masking_max_ngram=3, masking_do_full_word=True, masking_do_permutation=False,
        masking_use_longer_ngrams=False, masking_use_geometric_distribution=False, classification_head=pairs)
    return BlendedMegatronDatasetBuilder(BERTMaskedWordPieceDataset, [1, 1, 1], lambda: True, config).build()


def parts(dataset):
    """The data sets of the single files of a blend."""
    return getattr(dataset, "datasets", [dataset])


def sentences(low, want):
    """Compares the sequences and documents of a file with records."""
    for d, record in enumerate(want):
        first, end = low.document_indices[d:d + 2]
        got = [low[i].tolist() for i in range(first, end)]
        assert [len(s) for s in got] == record["sentence_lengths"], f"document {d}: {[len(s) for s in got]}"
        assert sum(got, []) == record["input_ids"], f"document {d}"
    assert len(low.document_indices) == len(want) + 1


def within(part, whole):
    """Whether a list is a slice of another."""
    return any(whole[i:i + len(part)] == part for i in range(len(whole) - len(part) + 1))


def sample(dataset, i, length, pairs, tokenizer):
    """Checks a sample; returns the numbers of tokens of text in it, and of its sentences."""
    s = dataset[i]
    text = numpy.where(s["loss_mask"] == 1, s["labels"], s["text"])
    n = int(numpy.flatnonzero(text)[-1]) + 1
    assert len(text) == length and not s["loss_mask"][n:].any()
    assert (s["padding_mask"] == (s["text"] != 0)).all()  # so a word that is replaced by [PAD] counts as padding
    assert ((s["labels"] == -1) == (s["loss_mask"] == 0)).all() and (s["loss_mask"].any() or n < 10)
    seps = numpy.flatnonzero(text[:n] == tokenizer.sep)
    assert text[0] == tokenizer.cls and seps[-1] == n - 1 and len(seps) == 1 + pairs, (i, seps, n)
    second = seps[0] + 1
    assert not s["types"][:second].any() and s["types"][second:n].all() and not s["types"][n:].any()
    begin, end, _ = dataset.sample_index[i]
    whole = sum((dataset.dataset[k].tolist() for k in range(begin, end)), [])
    segments = [text[1:seps[0]].tolist(), text[second:n - 1].tolist()][:1 + pairs]
    assert all(within(t, whole) and t for t in segments), f"sample {i} is not text of one document"
    if pairs and not s["truncated"]:
        assert whole == sum(reversed(segments) if s["is_random"] else segments, []), f"sample {i}"
    return sum(map(len, segments)), len(whole)


def main(folder, records, length=128):
    import torch.distributed
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    load_megatron()
    want = [json.loads(line) for line in open(records)]
    tokenizer = Tokenizer(os.path.join(folder, "vocab.txt"))
    for pairs in (True, False):
        with tempfile.TemporaryDirectory() as cache:
            for split, dataset in zip(("train", "eval"), build(folder, int(length), pairs, tokenizer, cache)):
                expected = [r for r in want if os.path.basename(r["file"]).startswith(split + "-")]
                total = sum(len(r["input_ids"]) for r in expected)
                if dataset is None and not expected:
                    continue
                files = {}
                for r in expected:
                    files.setdefault(os.path.basename(r["file"]).split(".")[0], []).append(r)
                seen, covered, count = 0, 0, 0
                for one in parts(dataset):
                    sentences(one.dataset, files.pop(os.path.basename(one.dataset.path_prefix)))
                    for i in range(len(one)):
                        a, b = sample(one, i, int(length), pairs, tokenizer)
                        seen, covered, count = seen + a, covered + b, count + 1
                assert not files and count > 0, files.keys()
                assert covered >= 0.995 * total, f"{split}: sentences of {covered} of {total} tokens are in a sample"
                print(f"{split}, {'pairs' if pairs else 'no pairs'}: {count} samples, sentences of {covered / total:.2%} of the tokens, {seen / total:.2%} after truncation")


if __name__ == "__main__":
    main(*sys.argv[1:])
