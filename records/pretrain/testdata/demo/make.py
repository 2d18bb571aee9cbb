"""Writes the records of this folder with google-research/bert's own script:

    pip install tensorflow-cpu==2.21.0 six
    pip install --no-deps bert-tensorflow==1.0.4
    python make.py

bert-tensorflow is Google's release of the repository on PyPI. Its script,
create_pretraining_data.py, runs unmodified. input.txt is what `prepare-data
export --to text` wrote for documents of the corpus of `prepare-data demo`,
vocab.txt what `prepare-data vocab` trained on them. runs.json names the flags of
each run; the tests read it too.

The release has no whole-word masking: seq128-wwm was written by the script as it
stands in the repository google-research/bert (under tensorflow.compat.v1), and
is left alone here.

TensorFlow writes the features of a record in no fixed order. They are put in the
order in which pretext writes them; values are as the script wrote them.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile

import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))
ORDER = ["input_ids", "input_mask", "segment_ids", "masked_lm_positions", "masked_lm_ids", "masked_lm_weights", "next_sentence_labels"]


def ordered(record):
    """The same tf.train.Example with its features in ORDER."""
    example = tf.train.Example.FromString(record)
    features = b""
    for name in ORDER:  # messages that stand one after another are merged
        features += tf.train.Features(feature={name: example.features.feature[name]}).SerializeToString()
    assert set(example.features.feature) == set(ORDER)
    head, n = b"\x0a", len(features)
    while n >= 128:
        head, n = head + bytes([n & 127 | 128]), n >> 7
    return head + bytes([n]) + features


def make(run, folder):
    out = os.path.join(folder, "out.tfrecord")
    flags = {**run["flags"], "input_file": os.path.join(HERE, "input.txt"), "vocab_file": os.path.join(HERE, "vocab.txt"), "output_file": out}
    command = [sys.executable, "-m", "bert.create_pretraining_data"] + [f"--{k}={v}" for k, v in flags.items()]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    reorder(out, os.path.join(HERE, run["name"] + ".tfrecord.gz"))


def reorder(source, target):
    """Rewrites a TFRecord file as a gzip file of records with ordered features."""
    with tempfile.NamedTemporaryFile() as plain:
        with tf.io.TFRecordWriter(plain.name) as writer:
            for record in tf.data.TFRecordDataset(source):
                writer.write(ordered(record.numpy()))
        with open(plain.name, "rb") as f, open(target, "wb") as out:
            out.write(gzip.compress(f.read(), 9, mtime=0))


if __name__ == "__main__":
    for run in json.load(open(os.path.join(HERE, "runs.json"))):
        if run["flags"]["do_whole_word_mask"]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            make(run, folder)
        print(run["name"])
