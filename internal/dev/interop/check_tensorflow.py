"""Trains ten steps on TFRecord that TensorFlow reads, and compares the losses with train-bert's.

    check_tensorflow.py SHARDS RECORDS MODEL METRICS

SHARDS is a folder of the recipe google, RECORDS what `prepare-data head SHARDS --json -n 0`
says of it, MODEL a folder with the weights that training began with, METRICS the
metrics.jsonl of a run of train-bert whose batches had all examples of the train split.
The examples are read as run_pretraining.py of google-research/bert reads them
(tf.io.FixedLenFeature, int64 to int32) and by BertPretrainDataLoader of TensorFlow's
Model Garden. The model and the optimizer are those of that script, written out here.
"""

import glob
import json
import os
import struct
import sys

import numpy
import tensorflow as tf

INTS = {"input_ids": "S", "input_mask": "S", "segment_ids": "S", "masked_lm_positions": "P", "masked_lm_ids": "P", "next_sentence_labels": 1}
TOLERANCE = 1e-4  # of a loss, relative


def googles(pattern, lengths, batch):
    """The batches of input_fn with is_training=False, which do not shuffle."""
    spec = {name: tf.io.FixedLenFeature([lengths.get(n, n)], tf.int64) for name, n in INTS.items()}
    spec["masked_lm_weights"] = tf.io.FixedLenFeature([lengths["P"]], tf.float32)
    d = tf.data.TFRecordDataset(sorted(tf.io.gfile.glob(pattern))).repeat()
    d = d.map(lambda r: {k: tf.cast(v, tf.int32) if v.dtype == tf.int64 else v for k, v in tf.io.parse_single_example(r, spec).items()})
    return d.batch(batch, drop_remainder=True)


def gardens(pattern, lengths, batch):
    """The batches of the Model Garden's loader, with Google's names."""
    sys.modules["tensorflow_datasets"] = type(sys)("tensorflow_datasets")  # imported by it, for data sets of another kind
    from official.nlp.data import pretrain_dataloader
    config = pretrain_dataloader.BertPretrainDataConfig(input_path=pattern, seq_length=lengths["S"], max_predictions_per_seq=lengths["P"],
                                                        global_batch_size=batch, is_training=False, deterministic=True, cycle_length=1)
    names = {"input_word_ids": "input_ids", "input_type_ids": "segment_ids"}
    return pretrain_dataloader.BertPretrainDataLoader(config).load().map(lambda b: {names.get(k, k): v for k, v in b.items()})


def compare(batches, records, what):
    """The first batch, of all examples, has the values of the records."""
    batch = next(iter(batches))
    columns = [*INTS, "masked_lm_weights"]
    rows = zip(*(numpy.asarray(batch[c]).tolist() for c in columns))
    want = [[r[c] if isinstance(r[c], list) else [r[c]] for c in columns] for r in records]
    assert sorted(map(list, rows)) == sorted(want), f"{what}: other values than those of the records"
    print(f"{what}: {len(records)} examples, every value equal")


def load(folder):
    """The tensors of model.safetensors, by name."""
    with open(os.path.join(folder, "model.safetensors"), "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    tensors = {}
    for name, t in header.items():
        if name != "__metadata__" and not name.endswith("position_ids") and not name.startswith("cls.predictions.decoder"):
            assert t["dtype"] == "F32", name
            tensors[name] = tf.Variable(numpy.frombuffer(data[slice(*t["data_offsets"])], numpy.float32).reshape(t["shape"]))
    return tensors


def norm(p, name, x):
    mean = tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(tf.square(x - mean), -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-12) * p[name + ".weight"] + p[name + ".bias"]


def dense(p, name, x):
    return tf.einsum("...i,oi->...o", x, p[name + ".weight"]) + p[name + ".bias"]


def encode(p, config, b):
    """The hidden states of the last layer."""
    e = "bert.embeddings."
    x = tf.gather(p[e + "word_embeddings.weight"], b["input_ids"]) + tf.gather(p[e + "token_type_embeddings.weight"], b["segment_ids"])
    x = norm(p, e + "LayerNorm", x + p[e + "position_embeddings.weight"][:b["input_ids"].shape[1]])
    bias = (1.0 - tf.cast(b["input_mask"], tf.float32))[:, None, None, :] * -1e9
    heads = config["num_attention_heads"]
    size = config["hidden_size"] // heads
    split = lambda t: tf.transpose(tf.reshape(t, [tf.shape(t)[0], -1, heads, size]), [0, 2, 1, 3])
    for i in range(config["num_hidden_layers"]):
        l = f"bert.encoder.layer.{i}."
        q, k, v = (split(dense(p, l + "attention.self." + n, x)) for n in ("query", "key", "value"))
        share = tf.nn.softmax(tf.einsum("nhqd,nhkd->nhqk", q, k) / size ** 0.5 + bias)
        mixed = tf.reshape(tf.transpose(tf.einsum("nhqk,nhkd->nhqd", share, v), [0, 2, 1, 3]), tf.shape(x))
        x = norm(p, l + "attention.output.LayerNorm", x + dense(p, l + "attention.output.dense", mixed))
        inner = tf.nn.gelu(dense(p, l + "intermediate.dense", x), approximate=False)
        x = norm(p, l + "output.LayerNorm", x + dense(p, l + "output.dense", inner))
    return x


def losses(p, config, b):
    """The two losses of run_pretraining.py."""
    x = encode(p, config, b)
    h = tf.gather(x, b["masked_lm_positions"], batch_dims=1)
    h = norm(p, "cls.predictions.transform.LayerNorm", tf.nn.gelu(dense(p, "cls.predictions.transform.dense", h), approximate=False))
    logits = tf.einsum("npi,vi->npv", h, p["bert.embeddings.word_embeddings.weight"]) + p["cls.predictions.bias"]
    per_token = tf.nn.sparse_softmax_cross_entropy_with_logits(b["masked_lm_ids"], logits)
    mlm = tf.reduce_sum(per_token * b["masked_lm_weights"]) / (tf.reduce_sum(b["masked_lm_weights"]) + 1e-5)
    pooled = tf.tanh(dense(p, "bert.pooler.dense", x[:, 0]))
    pairs = tf.nn.sparse_softmax_cross_entropy_with_logits(b["next_sentence_labels"][:, 0], dense(p, "cls.seq_relationship", pooled))
    return mlm, tf.reduce_mean(pairs)


def train(p, config, batches, metrics):
    """AdamWeightDecayOptimizer of optimization.py, with the learning rates of the run."""
    moments = {name: (tf.Variable(tf.zeros_like(v)), tf.Variable(tf.zeros_like(v))) for name, v in p.items()}

    @tf.function
    def step(batch, rate):
        with tf.GradientTape() as tape:
            mlm, nsp = losses(p, config, batch)
            loss = mlm + nsp
        gradients, _ = tf.clip_by_global_norm([tf.convert_to_tensor(g) for g in tape.gradient(loss, list(p.values()))], 1.0)
        for (name, v), g in zip(p.items(), gradients):
            m, s = moments[name]
            m.assign(0.9 * m + 0.1 * g)
            s.assign(0.999 * s + 0.001 * g * g)
            decay = 0.0 if "LayerNorm" in name or name.endswith("bias") else 0.01
            v.assign_sub(rate * (m / (tf.sqrt(s) + 1e-6) + decay * v))
        return mlm, nsp

    for line, batch in zip(metrics, batches):
        for name, got in zip(("mlm_loss", "nsp_loss"), step(batch, tf.constant(line["learning_rate"], tf.float32))):
            assert abs(float(got) - line[name]) <= TOLERANCE * line[name], f"step {line['step']}: {name} {float(got)}, train-bert computes {line[name]}"
        print(f"step {line['step']}: loss {line['loss']:.6f}, in TensorFlow within {TOLERANCE}")


def main(shards, records, model, metrics):
    records = [r for r in map(json.loads, open(records)) if os.path.basename(r["file"]).startswith("train-")]
    lengths = {"S": len(records[0]["input_ids"]), "P": len(records[0]["masked_lm_positions"])}
    pattern = os.path.join(shards, "train-*.tfrecord")
    batches = googles(pattern, lengths, len(records))
    compare(batches, records, "as run_pretraining.py reads")
    compare(gardens(pattern, lengths, len(records)), records, "Model Garden")
    lines = [line for line in map(json.loads, open(metrics)) if "mlm_loss" in line]
    assert len(lines) == 10 and lines[-1]["position"] == 10 * len(records), lines[-1:]
    assert lines[-1]["loss"] < lines[0]["loss"] - 0.5, "the model does not learn"
    with open(os.path.join(model, "config.json")) as f:
        train(load(model), json.load(f), batches, lines)


main(*sys.argv[1:])
