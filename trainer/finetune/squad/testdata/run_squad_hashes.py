"""Prints the hashes that reference_hash_test.go holds: of what run_squad.py of
google-research/bert, as bert-tensorflow 1.0.4 of the package index carries it, writes
for made-up logits.

    pip install --no-deps --target ref bert-tensorflow==1.0.4 && pip install --target ref absl-py six
    PYTHONPATH=ref python run_squad_hashes.py DATA     DATA/squad and DATA/vocab as the tests have them

Only the parts in plain Python are used; TensorFlow is replaced by an empty shell.
"""

import hashlib
import os
import sys
import tempfile
import types


class Nothing(types.ModuleType):
    """A module whose every name is something that can be called and does nothing."""

    __path__ = []

    def __getattr__(self, name):
        return Nothing(name)

    def __call__(self, *args, **kwargs):
        return Nothing("result")


class Flags:
    FLAGS = types.SimpleNamespace()

    def __getattr__(self, name):
        return lambda flag, default=None, *args, **kwargs: setattr(self.FLAGS, flag, default)


class Files:
    GFile = Open = staticmethod(open)


tf = Nothing("tensorflow")
tf.flags, tf.gfile = Flags(), Files()
for name in ("tensorflow", "tensorflow.compat", "tensorflow.compat.v1", "bert.modeling", "bert.optimization"):
    sys.modules[name] = tf
tf.compat = tf.v1 = tf

import absl.flags  # noqa: E402

absl.flags.FLAGS(["hashes"])
import bert  # noqa: E402

bert.modeling = bert.optimization = tf
from bert import run_squad, tokenization  # noqa: E402

SETS = (
    ("squad/squad-v1.1-dev-part.json", 500, False, 96, 32, 24),
    ("squad/squad-v1.1-dev-part.json", 500, True, 128, 64, 64),
    ("squad/squad-v2.0-dev-tiny.json", 14, True, 384, 128, 64),
)


def logit(window, token, column):
    """Exact in single precision; highest about token 40, which is one of the text."""
    x = (window * 7919 + token * 104729 + column * 15485863 + 12345) * 2654435761 % 2**32
    return (x >> 8) % 2048 / 128 - abs(token - 40) / 4


def main(data):
    tokenizer = tokenization.FullTokenizer(vocab_file=data + "/vocab/bert-base-uncased-vocab.txt", do_lower_case=True)
    flags = run_squad.FLAGS
    flags.null_score_diff_threshold, flags.verbose_logging = 0.25, False
    for file, questions, negatives, length, stride, query in SETS:
        flags.version_2_with_negative = negatives
        examples = run_squad.read_squad_examples(data + "/" + file, is_training=False)[:questions]
        features = []
        run_squad.convert_examples_to_features(examples, tokenizer, length, stride, query, False, features.append)
        results = [run_squad.RawResult(f.unique_id, [logit(i, t, 0) for t in range(length)], [logit(i, t, 1) for t in range(length)])
                   for i, f in enumerate(features)]
        with tempfile.TemporaryDirectory() as out:
            paths = [os.path.join(out, n) for n in ("predictions.json", "nbest.json", "odds.json")]
            run_squad.write_predictions(examples, features, results, 20, 30, True, *paths)
            for path in (paths[0], paths[2]) if negatives else paths[:1]:
                with open(path, "rb") as f:
                    print(file, negatives, os.path.basename(path), hashlib.sha256(f.read()).hexdigest())


main(sys.argv[1])
