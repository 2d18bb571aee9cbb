"""Compares examples, as other libraries read them, with `head --json -n 0`.

    read_converted.py FORMAT DIR RECORDS
    read_converted.py same HDF5_DIR NPY_DIR

FORMAT is tfrecord or a format of `prepare-data convert`, DIR its output, RECORDS the
lines of `prepare-data head SHARDS --json -n 0`, in the order of the shards. With
"same", the arrays of large HDF5 files are compared with those of NumPy.
"""

import glob
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import types

import numpy

SIX = ["input_ids", "input_mask", "segment_ids", "masked_lm_positions", "masked_lm_ids", "next_sentence_labels"]


def stems(folder, split):
    manifest = json.load(open(os.path.join(folder, "manifest.json")))
    names = {f["name"].split(".")[0] for f in manifest["files"]}
    return sorted(n for n in names if n.startswith(split + "-"))


def split_folder(folder, split):
    """The directory of a split, where a format has one in each."""
    inner = os.path.join(folder, split)
    return inner if os.path.isdir(inner) else folder


def tfrecord(folder, split, columns):
    """Every form by TensorFlow: lists of any length are FixedLenSequenceFeature."""
    import tensorflow as tf
    spec = {c: tf.io.FixedLenSequenceFeature([], tf.float32 if c == "masked_lm_weights" else tf.int64, allow_missing=True) for c in columns}
    for path in sorted(glob.glob(os.path.join(folder, split + "-*.tfrecord*"))):
        for raw in tf.data.TFRecordDataset(path, compression_type="GZIP" if path.endswith(".gz") else ""):
            yield {c: v.numpy() for c, v in tf.io.parse_single_example(raw, spec).items()}


def npy(folder, split, columns):
    for stem in stems(folder, split):
        def load(name):
            return numpy.load(os.path.join(folder, f"{stem}.{name}.npy"), mmap_mode="r")
        arrays = {c: load(c) for c in columns}
        starts = {c: load(c + ".offsets") for c in columns if os.path.exists(os.path.join(folder, f"{stem}.{c}.offsets.npy"))}
        rows = {len(s) - 1 for s in starts.values()} | {len(a) for c, a in arrays.items() if c not in starts}
        assert len(rows) == 1, rows
        for i in range(rows.pop()):
            yield {c: a[starts[c][i]:starts[c][i + 1]] if c in starts else a[i] for c, a in arrays.items()}


def key(row, columns):
    return tuple(tuple(numpy.asarray(row[c]).reshape(-1).tolist()) for c in columns)


def stream(folder, **options):
    import streaming
    return streaming.StreamingDataset(remote=folder, local=tempfile.mkdtemp(), batch_size=1, **options)


def mds(folder, split, columns):
    """In order; a shuffled epoch; the rest of one after a resume; two ranks."""
    folder = split_folder(folder, split)
    dataset = stream(folder, shuffle=False)
    rows = [dataset[i] for i in range(len(dataset))]
    yield from rows
    want = sorted(key(row, columns) for row in rows)
    shuffled = [key(row, columns) for row in stream(folder, shuffle=True, shuffle_seed=7)]
    assert sorted(shuffled) == want, "a shuffled epoch has other rows"
    assert len(rows) < 20 or shuffled != [key(row, columns) for row in rows], "a shuffled epoch is in order"
    done = len(shuffled) // 3
    first = stream(folder, shuffle=True, shuffle_seed=7)
    read = iter(first)
    assert [key(next(read), columns) for _ in range(done)] == shuffled[:done], "the same seed gives another order"
    state = first.state_dict(num_samples=done, from_beginning=True)
    again = stream(folder, shuffle=True, shuffle_seed=7)
    again.load_state_dict(state)
    assert [key(row, columns) for row in again] == shuffled[done:], "a resumed epoch has other rows"
    if split == "train":
        ranks(folder, columns, want)


def ranks(folder, columns, want):
    """Two processes read all rows between them; at the end a row may be read twice."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    local, out = tempfile.mkdtemp(), tempfile.mkdtemp()
    processes = []
    for rank in range(2):
        env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        processes.append(subprocess.Popen([sys.executable, __file__, "rank", folder, local, os.path.join(out, str(rank)), *columns], env=env))
    assert [p.wait(120) for p in processes] == [0, 0], "a rank failed"
    lists = [json.load(open(os.path.join(out, str(rank)))) for rank in range(2)]
    got = [tuple(map(tuple, row)) for rows in lists for row in rows]
    assert abs(len(lists[0]) - len(lists[1])) <= 1 and len(got) <= len(want) + 1, "the ranks have too many rows"
    assert set(got) == set(want), "two ranks read other rows"


def rank(folder, local, out, *columns):
    import streaming
    dataset = streaming.StreamingDataset(remote=folder, local=local, shuffle=True, shuffle_seed=7, batch_size=1)
    json.dump([key(row, columns) for row in dataset], open(out, "w"))


def parquet(folder, split, columns):
    import datasets
    cache = tempfile.mkdtemp()
    streamed = datasets.load_dataset(folder, split=split, streaming=True)
    loaded = datasets.load_dataset(folder, split=split, cache_dir=cache)
    count = 0
    for row, other in zip(streamed, loaded, strict=True):
        assert row == other, f"row {count}: streaming gives other values"
        count += 1
        yield row


def webdataset(folder, split, columns):
    import webdataset as wds
    files = [os.path.join(folder, s + ".tar") for s in stems(folder, split)]
    for sample in wds.WebDataset(files, shardshuffle=False).decode():
        yield {c: sample[c + ".npy"] for c in columns}


def megatron(folder, split, columns):
    """By IndexedDataset of megatron-core, of which only the files that read are loaded."""
    load_megatron()
    from megatron.core.datasets import indexed_dataset as indexed
    for stem in stems(folder, split):
        dataset = indexed.IndexedDataset(os.path.join(folder, stem))
        at = dataset.document_indices
        assert "sentence_lengths" in columns or len(at) == len(dataset) + 1
        for begin, end in zip(at[:-1], at[1:]):
            sequences = [dataset[i].astype("int64") for i in range(begin, end)]
            yield {"input_ids": numpy.concatenate(sequences), "sentence_lengths": numpy.array([len(s) for s in sequences])}


def load_megatron():
    """Makes its files importable one by one: all together need a newer torch, and a GPU's libraries."""
    base = next(p for p in sys.path if os.path.isdir(os.path.join(p, "megatron", "core", "datasets")))
    for name in ["megatron", "megatron.core", "megatron.core.datasets"]:
        module = types.ModuleType(name)
        module.__path__ = [os.path.join(base, *name.split("."))]
        sys.modules[name] = module
    utils = types.ModuleType("megatron.core.utils")
    utils.log_single_rank = lambda *a, **k: None
    sys.modules["megatron.core.utils"] = utils


def weights(positions):
    """Those that DeepLearningExamples gives: predictions end at the first position 0."""
    zeros = numpy.flatnonzero(numpy.asarray(positions) == 0)
    count = zeros[0] if len(zeros) else len(positions)
    return numpy.arange(len(positions)) < count


def hdf5(folder, split, columns):
    """As run_pretraining.py of DeepLearningExamples reads: files by name, six keys, whole arrays."""
    import h5py
    kind = "training" if split == "train" else "test"
    files = sorted(f for f in os.listdir(folder) if os.path.isfile(os.path.join(folder, f)) and kind in f)
    for name in files:
        with h5py.File(os.path.join(folder, name), "r") as f:
            inputs = [numpy.asarray(f[k][:]) for k in SIX]
        for i in range(len(inputs[0])):
            row = {k: a[i].astype(numpy.int64) for k, a in zip(SIX, inputs)}
            row["masked_lm_weights"] = weights(row["masked_lm_positions"]).astype(numpy.float32)
            yield row


def lddl(folder, split, columns):
    """LDDL's columns, by pyarrow; its loader makes the same lists of them."""
    import pyarrow.parquet
    folder = split_folder(folder, split)
    ids = {token.rstrip("\n"): i for i, token in enumerate(open(os.path.join(folder, "vocab.txt"), encoding="utf-8"))}
    counts = json.load(open(os.path.join(folder, ".num_samples.json")))
    lengths = json.load(open(os.path.join(folder, "manifest.json")))["options"]
    seq, most = lengths["max_seq_length"], lengths["max_predictions_per_seq"]
    for stem in stems(folder, split):
        rows = []
        for path in sorted(glob.glob(os.path.join(folder, stem + ".parquet_*"))):
            got = pyarrow.parquet.read_table(path).to_pylist()
            assert len(got) == counts[os.path.basename(path)], path
            assert all(path.endswith(f"_{row['bin_id']}") for row in got), path
            rows += got
        for row in sorted(rows, key=lambda row: row["row"]):
            a, b = row["A"].split(), row["B"].split()
            tokens = ["[CLS]", *a, "[SEP]", *b, "[SEP]"]
            assert len(tokens) == row["num_tokens"]
            def pad(values, n):
                return numpy.array(list(values) + [0] * (n - len(values)))
            positions = numpy.load(io.BytesIO(row["masked_lm_positions"])).astype(numpy.int64)
            labels = [ids[t] for t in row["masked_lm_labels"].split()]
            yield {"input_ids": pad([ids[t] for t in tokens], seq), "input_mask": pad([1] * len(tokens), seq),
                   "segment_ids": pad([0] * (len(a) + 2) + [1] * (len(b) + 1), seq), "masked_lm_positions": pad(positions, most),
                   "masked_lm_ids": pad(labels, most), "masked_lm_weights": pad([1.0] * len(labels), most),
                   "next_sentence_labels": [int(row["is_random_next"])]}


def same(hdf5_folder, npy_folder):
    import h5py
    count = 0
    for path in sorted(glob.glob(os.path.join(hdf5_folder, "*.hdf5"))):
        stem = os.path.basename(path).split(".")[0]
        with h5py.File(path, "r") as f:
            assert sorted(f) == sorted(SIX), sorted(f)
            for k in SIX:
                assert numpy.array_equal(f[k][:], numpy.load(os.path.join(npy_folder, f"{stem}.{k}.npy"))), f"{path}: {k}"
            chunks = -(-f["input_ids"].shape[0] // f["input_ids"].chunks[0])
            assert chunks > 64, "too few chunks for a B-tree of two levels"
            count += len(f["input_ids"])
    assert count > 0
    print(f"hdf5: {count} rows in trees of two levels equal")


def document(kind, folder, want):
    """Runs the reader of docs/convert.md: it leaves the ids of the first training example."""
    text = open(os.path.join(os.path.dirname(__file__), "..", "..", "..", "docs", "convert.md")).read()
    lists = "input_mask" not in want and "sequence_lengths" not in want
    section = text.partition(f"\n## {kind}\n")[2].partition("\n## ")[0]
    blocks = {head: code for head, _, code in (b.partition("\n") for b in section.split("```python")[1:])}
    code = blocks.get(" tokens") if lists else None
    code = (code or blocks.get("") or "").partition("```")[0]
    assert code, f"docs/convert.md has no reader of {kind}"
    if kind == "megatron":
        load_megatron()
    scope = {"DIR": folder}
    exec(code, scope)
    got = numpy.asarray(scope["ids"]).reshape(-1)
    assert numpy.array_equal(got, numpy.asarray(want["input_ids"])[:len(got)]) and len(got) > 1, f"docs/convert.md, {kind}: {got}"


def main(kind, folder, records):
    want = [json.loads(line) for line in open(records)]
    columns = [c for c in want[0] if c not in ("file", "record", "tokens", "masked_lm_tokens", "texts")]
    for split in ("train", "eval"):
        expected = [r for r in want if os.path.basename(r["file"]).startswith(split + "-")]
        if not expected:
            continue
        count = 0
        for count, (row, record) in enumerate(zip(globals()[kind](folder, split, columns), expected, strict=True), 1):
            for c in columns:
                got, exp = numpy.asarray(row[c]).reshape(-1), numpy.asarray(record[c]).reshape(-1)
                assert got.dtype.kind == exp.dtype.kind or c == "masked_lm_weights", f"{c}: {got.dtype}"
                assert numpy.array_equal(got, exp), f"{split} row {count}, {c}: {got} want {exp}"
        assert count == len(expected) > 0, f"{split}: {count} rows, want {len(expected)}"
        if split == "train" and kind != "tfrecord":
            document(kind, folder, expected[0])
        print(f"{kind}: {split}: {count} rows of {len(columns)} columns equal")


if __name__ == "__main__":
    if sys.argv[1] == "rank":
        rank(*sys.argv[2:])
    elif sys.argv[1] == "same":
        same(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
    # A thread of pyarrow's that still runs aborts the process when its objects are destroyed.
    sys.stdout.flush()
    os._exit(0)
