"""What the tests share: the folder PRETEXT_SHARDS, which internal/dev/checks/scripts/release.sh makes.

    NAME/         shards: google, mlm, tokens, packed, pieces, bins, gzip, bpe, many, large
    NAME.jsonl    prepare-data head --json -n 0
    NAME.order    positions by the Go reader (internal/dev/interop/order); words: google with whole-word masks
"""

import json
import os
import shutil
import tempfile
import unittest

ROOT = os.environ.get("PRETEXT_SHARDS") or exit("PRETEXT_SHARDS is not set: make release-check makes the shards and runs these tests")
LENGTH = 128  # max_seq_length of documents


def path(name):
    return os.path.join(ROOT, name)


def options(name):
    return {"max_seq_length": LENGTH} if name == "tokens" else {}


def lines(name):
    with open(path(name), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def records(name, split):
    """The records of a split as prepare-data shows them."""
    return [r for r in lines(name + ".jsonl") if os.path.basename(r["file"]).startswith(split)]


class Copies(unittest.TestCase):
    """A test that may change a copy of shards."""

    def copy(self, name):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        return shutil.copytree(path(name), os.path.join(folder, name))

    def change(self, file, offset, value=None):
        """Changes one byte of a file, or cuts it there."""
        with open(file, "r+b") as f:
            if value is None:
                f.truncate(offset)
                return
            f.seek(offset)
            old = f.read(1)[0]
            f.seek(offset)
            f.write(bytes([old ^ value]))
