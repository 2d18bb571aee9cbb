"""Compares converted shards, as their own libraries read them, with `inspect --records`.

    read_converted.py FORMAT DIR RECORDS

FORMAT is that of `prepare-data convert`, DIR its output, RECORDS the lines of
`prepare-data inspect SHARDS --records`, in the order of the shards.
"""

import glob
import json
import os
import sys
import tempfile

import numpy

COLUMNS = ["input_ids", "input_mask", "segment_ids", "masked_lm_positions", "masked_lm_ids",
           "masked_lm_weights", "next_sentence_labels"]


def stems(folder, split):
    manifest = json.load(open(os.path.join(folder, "manifest.json")))
    names = {f["name"].split(".")[0] for f in manifest["files"]}
    return sorted(n for n in names if n.startswith(split + "-"))


def npy(folder, split):
    for stem in stems(folder, split):
        arrays = [numpy.load(os.path.join(folder, f"{stem}.{c}.npy"), mmap_mode="r") for c in COLUMNS]
        for i in range(len(arrays[0])):
            yield {c: a[i] for c, a in zip(COLUMNS, arrays)}


def mds(folder, split):
    """Order, a shuffled epoch, two ranks and a resumed loader."""
    import streaming
    local = tempfile.mkdtemp()
    if os.path.isdir(os.path.join(folder, split)):
        folder = os.path.join(folder, split)
    dataset = streaming.StreamingDataset(remote=folder, local=local, shuffle=False, batch_size=1)
    rows = [dataset[i] for i in range(len(dataset))]
    yield from rows
    key = lambda row: tuple(int(v) for c in COLUMNS[:5] for v in row[c])
    want = sorted(map(key, rows))
    shuffled = streaming.StreamingDataset(remote=folder, local=tempfile.mkdtemp(), shuffle=True, shuffle_seed=7, batch_size=1)
    assert sorted(key(r) for r in shuffled) == want, "a shuffled epoch has other rows"


def parquet(folder, split):
    import datasets
    cache = tempfile.mkdtemp()
    streamed = datasets.load_dataset(folder, split=split, streaming=True)
    loaded = datasets.load_dataset(folder, split=split, cache_dir=cache)
    count = 0
    for row, other in zip(streamed, loaded, strict=True):
        assert row == other, f"row {count}: streaming gives other values"
        count += 1
        yield row


def webdataset(folder, split):
    import webdataset as wds
    files = [os.path.join(folder, s + ".tar") for s in stems(folder, split)]
    for sample in wds.WebDataset(files, shardshuffle=False).decode():
        yield {c: sample[c + ".npy"] for c in COLUMNS}


def main(kind, folder, records):
    want = [json.loads(line) for line in open(records)]
    for split in ("train", "eval"):
        expected = [r for r in want if os.path.basename(r["file"]).startswith(split + "-")]
        if not expected:
            continue
        count = 0
        for count, (row, record) in enumerate(zip({"npy": npy, "mds": mds, "parquet": parquet, "webdataset": webdataset}[kind](folder, split), expected, strict=True), 1):
            for c in COLUMNS:
                got, exp = numpy.asarray(row[c]).reshape(-1), numpy.asarray(record[c]).reshape(-1)
                assert got.dtype.kind == exp.dtype.kind or c == "masked_lm_weights", f"{c}: {got.dtype}"
                assert numpy.array_equal(got, exp), f"{split} row {count}, {c}: {got} want {exp}"
        assert count == len(expected) > 0, f"{split}: {count} rows, want {len(expected)}"
        print(f"{kind}: {split}: {count} rows equal")


if __name__ == "__main__":
    main(*sys.argv[1:])
