"""Reads dataset cards as Hugging Face's own packages do: each card's metadata with
huggingface_hub, each config with datasets.load_dataset, whole and streamed, which
must have the documents that the manifest counts. Then it runs the programs on the
card of a whole run.

    python check_card.py PREPARE_DATA DEMO FOLDER

PREPARE_DATA is the program, DEMO a run of its demo, FOLDER is written anew."""

import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import sys

prepare, demo, folder = map(os.path.abspath, sys.argv[1:])
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
os.environ.update(HF_HOME=os.path.join(folder, "cache"), HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1")

import datasets
from huggingface_hub import DatasetCard

datasets.disable_progress_bars()


def run(*args):
    subprocess.run([prepare, *args], check=True, stdout=subprocess.DEVNULL)


def documents(path):
    """Returns how many documents the manifest of a folder counts."""
    with open(os.path.join(path, "manifest.json")) as f:
        return json.load(f)["counts"]["documents"]


def check(name, want, default=None):
    """Writes the card of FOLDER/name. want: documents of each config."""
    path = os.path.join(folder, name)
    readme = os.path.join(path, "README.md")
    run("card", path, "--out", readme, "--license", "cc-by-sa-4.0")
    card = DatasetCard.load(readme)
    data = card.data
    assert data.task_categories == ["fill-mask"] and data.license and data.pretty_name, data
    assert card.text.strip().startswith("# "), card.text[:40]
    found = {c["config_name"]: c for c in data.to_dict().get("configs", [])}
    assert set(found) == set(want), (name, found)
    assert want or data.to_dict()["viewer"] is False, (name, data)
    for config, rows in want.items():
        whole = datasets.load_dataset(path, config, split="train")
        assert whole.num_rows == rows, (name, config, whole.num_rows, rows)
        streamed = list(datasets.load_dataset(path, config, split="train", streaming=True))
        assert streamed == whole.to_list(), (name, config)
        assert set(whole.features) == {"id", "text", "source", "metadata"} and set(whole.features["metadata"]) == {"title", "lang", "url", "revision", "timestamp", "license"}, whole.features
    if default:
        assert datasets.load_dataset(path, split="train").num_rows == want[default], (name, default)
    print("card ok:", name, want)
    return card


def programs(card, path):
    """Runs the Python of a card in its folder; returns the values of each."""
    for text in re.findall(r"```python\n(.*?)```", card.text, re.S):
        values = {"PATH": path}
        with contextlib.chdir(path):
            exec(text, values)
            yield values


# A whole run.
shutil.copytree(demo, os.path.join(folder, "run"))
rows = documents(os.path.join(demo, "documents"))
card = check("run", {"documents": rows}, "documents")
records = 0
for values in programs(card, os.path.join(folder, "run")):
    if "documents" in values:
        assert values["documents"].num_rows == rows, values
    if "examples" in values:
        with contextlib.chdir(os.path.join(folder, "run")):
            records = sum(1 for _ in values["examples"])
with open(os.path.join(demo, "shards", "manifest.json")) as f:
    train = sum(e["counts"]["records"] for e in json.load(f)["files"] if re.fullmatch(r"train-.*\.tfrecord", e["name"]))
assert records == train, (records, train)

# A run that filtered books of unknown language and a dump that names its own: the
# first documents have no metadata, later ones have. One folder's name is a pattern.
odd = os.path.join(folder, "two folders")
os.makedirs(os.path.join(folder, "books"))
for i in range(3):
    with open(os.path.join(folder, "books", f"{i}.txt"), "w") as f:
        f.write(f"A page of text, number {i}, of some words.\n" * 5)
dump = glob.glob(os.path.join(demo, "sources", "*.bz2"))[0]
run("run", "--books", os.path.join(folder, "books"), "--wiki-dump", dump, "--vocab", os.path.join(demo, "shards", "vocab.txt"),
    "--set", "rule=min-words=60", "--eval-fraction", "0", "--compression", "gzip", "--out", odd, "--quiet")
os.rename(os.path.join(odd, "documents"), os.path.join(odd, "all [of] it"))
want = {name: documents(os.path.join(odd, name)) for name in ("all [of] it", "filtered")}
want["all-of-it"] = want.pop("all [of] it")
assert want["filtered"] < want["all-of-it"], want
check("two folders", want, "filtered")

# One stage alone: documents, documents that the examples stage imported, records
# with a manifest and without.
shutil.copytree(os.path.join(odd, "filtered"), os.path.join(folder, "filtered"))
check("filtered", {"documents": want["filtered"]}, "documents")
with open(os.path.join(folder, "own.jsonl"), "w") as f:
    f.writelines(json.dumps({"text": f"Line {i} of mine.\nAnd one more.", "extra": i}) + "\n" for i in range(20))
run("examples", os.path.join(folder, "own.jsonl"), "--vocab", os.path.join(demo, "shards", "vocab.txt"), "--out", os.path.join(folder, "imported"), "--quiet")
check("imported", {"imported": 20}, "imported")
shutil.copytree(os.path.join(demo, "shards"), os.path.join(folder, "shards"))
try:  # not the side-cars
    raise AssertionError(datasets.load_dataset(os.path.join(folder, "shards")))
except datasets.exceptions.DataFilesNotFoundError:
    pass
check("shards", {})
try:
    raise AssertionError(datasets.load_dataset(os.path.join(folder, "shards")))
except datasets.exceptions.DataFilesNotFoundError:
    pass
# Two data sets in folders of one name: the cache of datasets tells them apart.
for count in "1", "2":
    made = os.path.join(folder, "shards" + count)
    run("examples", os.path.join(demo, "documents"), "--vocab", os.path.join(demo, "shards", "vocab.txt"), "--dupe-factor", count, "--format", "parquet", "--out", made, "--quiet")
    with open(os.path.join(made, "parquet", "manifest.json")) as f:
        assert datasets.load_dataset(os.path.join(made, "parquet"), split="train").num_rows == json.load(f)["counts"]["records"], "rows of another folder"
for form, readable in ("npy", False), ("mds/train", False), ("webdataset", True), ("hdf5", True):
    out = os.path.join(folder, form)
    run("convert", os.path.join(demo, "shards"), "--to", form.removesuffix("/train"), "--out", out.removesuffix("/train"), "--quiet")
    try:
        assert datasets.load_dataset(out, split="train").num_rows == train and readable, form
    except datasets.exceptions.DataFilesNotFoundError:
        assert not readable, form
os.makedirs(os.path.join(folder, "bare"))
for path in glob.glob(os.path.join(demo, "shards", "train-*.tfrecord")):
    shutil.copy(path, os.path.join(folder, "bare"))
card = check("bare", {})
for values in programs(card, os.path.join(folder, "bare")):
    with contextlib.chdir(os.path.join(folder, "bare")):
        assert sum(1 for _ in values["examples"]) == train
