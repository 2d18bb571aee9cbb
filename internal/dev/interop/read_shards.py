"""Reads a folder of shards with TensorFlow, as BERT's run_pretraining.py does, and
compares every value with what `prepare-data head --json -n 0` says.

    python read_shards.py SHARDS RECORDS.jsonl [--max-seq-length 128] [--max-predictions-per-seq 20]
"""

import argparse
import glob
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf  # noqa: E402  (the variable must be set before)


def feature_spec(seq, preds):
    """The name_to_features of run_pretraining.py's input function."""
    return {
        "input_ids": tf.io.FixedLenFeature([seq], tf.int64),
        "input_mask": tf.io.FixedLenFeature([seq], tf.int64),
        "segment_ids": tf.io.FixedLenFeature([seq], tf.int64),
        "masked_lm_positions": tf.io.FixedLenFeature([preds], tf.int64),
        "masked_lm_ids": tf.io.FixedLenFeature([preds], tf.int64),
        "masked_lm_weights": tf.io.FixedLenFeature([preds], tf.float32),
        "next_sentence_labels": tf.io.FixedLenFeature([1], tf.int64),
    }


def main():
    p = argparse.ArgumentParser()
    p.add_argument("shards")
    p.add_argument("records")
    p.add_argument("--max-seq-length", type=int, default=128)
    p.add_argument("--max-predictions-per-seq", type=int, default=20)
    a = p.parse_args()
    spec = feature_spec(a.max_seq_length, a.max_predictions_per_seq)
    files = sorted(glob.glob(os.path.join(a.shards, "*.tfrecord*")))
    if not files:
        sys.exit("no files match *.tfrecord* in " + a.shards)
    compared = 0
    with open(a.records, encoding="utf-8") as expected:
        for path in files:
            compression = "GZIP" if path.endswith(".gz") else ""
            for n, raw in enumerate(tf.data.TFRecordDataset(path, compression_type=compression)):
                got = tf.io.parse_single_example(raw, spec)
                line = expected.readline()
                if not line:
                    sys.exit(f"{path} record {n}: inspect has no more records")
                want = json.loads(line)
                if os.path.basename(want["file"]) != os.path.basename(path) or want["record"] != n:
                    sys.exit(f"{path} record {n}: inspect is at {want['file']} record {want['record']}")
                for name in spec:
                    if got[name].numpy().tolist() != want[name]:
                        sys.exit(f"{path} record {n}: {name} differs")
                compared += 1
        if expected.readline():
            sys.exit("inspect has more records than TensorFlow")
    if compared == 0:
        sys.exit("no records were compared")
    print(f"tensorflow {tf.__version__}: {compared} records of {len(files)} files, every value equal")


main()
