"""A folder of shards: its manifest, files and vocabulary. See docs/file-format.md."""

import hashlib
import json
import os
import re
from typing import List, NamedTuple, Optional

from ._errors import ShardError

TRAIN, EVAL = "train", "eval"

_SHARD = re.compile(r"(train|eval)(_\d+)?-(\d{5,})-of-(\d{5,})\.tfrecord(\.gz)?$")
_THIRD_PARTY = re.compile(r".+\.(tfrecords?|tf_records?|records?)(\.gz)?$|.*-\d{5,}-of-\d{5,}(\.gz)?$", re.IGNORECASE)
_FORMS = {"google": "pairs", "mlm": "masked", "tokens": "tokens", "packed": "packed", "pieces": "pieces", "sentences": "tokens"}


class Specials(NamedTuple):
    """Ids of special tokens; -1: the vocabulary has none."""

    vocab_size: int
    pad: int
    cls: int
    sep: int
    mask: int


class File(NamedTuple):
    """A file of records."""

    path: str
    ordinal: int  # number among all files of records of the folder, of both splits
    bytes: int
    records: Optional[int]  # None: no manifest says it
    sha256: Optional[str]

    @property
    def compressed(self):
        return self.path.endswith(".gz")

    def beside(self, suffix):
        """The path of a file of the same shard."""
        return re.sub(r"\.tfrecord(\.gz)?$", suffix, self.path)


class Folder:
    """What Open finds at a path."""

    def __init__(self, path, split, verify=False):
        if split not in (TRAIN, EVAL):
            raise ValueError(f'split {split!r}: must be "{TRAIN}" or "{EVAL}"')
        path = os.fspath(path)
        self.options, self.finished = {}, False
        self.path = path if os.path.isfile(path) else _find(path)
        if os.path.isfile(os.path.join(self.path, "manifest.json")):
            self._read_manifest(split, verify)
        else:
            self._list_files(split)
        if not self.files:
            raise ShardError(self.path, f'no shards of the split "{split}"')

    @property
    def form(self) -> Optional[str]:
        """pairs, masked, tokens, packed or pieces; None: the first record shows it."""
        return _FORMS[self.options.get("recipe", "google")] if self.finished else None

    def _read_manifest(self, split, verify):
        manifest = _load(os.path.join(self.path, "manifest.json"))
        if manifest.get("stage") != "examples":
            raise ShardError(self.path, f'its stage is "{manifest.get("stage")}": give the folder that prepare-data examples or run wrote')
        version = manifest.get("format_version")
        if isinstance(version, int) and version > 2:
            raise ShardError(self.path, f"written by a newer pretext: format_version {version}, this package knows up to 2: install a newer one")
        if version not in (1, 2):
            raise ShardError(self.path, f"format_version {version} is not known: this package reads 1 and 2")
        entries = manifest["files"] if version == 1 else self._parts(manifest["parts"])
        self.options, self.finished = manifest["options"], True
        if self.options.get("recipe", "google") not in _FORMS:
            raise ShardError(self.path, f'the recipe "{self.options["recipe"]}" is not known: this package is older than the shards')
        self.files: List[File] = []
        shards = [e for e in entries if _SHARD.match(e["name"])]
        for ordinal, e in enumerate(sorted(shards, key=lambda e: e["name"])):
            if _SHARD.match(e["name"]).group(1) == split:
                file = File(os.path.join(self.path, e["name"]), ordinal, e["bytes"], e["counts"]["records"], e["sha256"])
                self._check(file, verify)
                self.files.append(file)

    def _parts(self, parts):
        for part in parts:
            path = os.path.join(self.path, part["name"])
            with open(path, "rb") as f:
                data = f.read()
            if hashlib.sha256(data).hexdigest() != part["sha256"]:
                raise ShardError(path, "is not the file of the manifest: copy the folder again, or make the shards again")
            yield from map(json.loads, data.splitlines())

    def _check(self, file, verify):
        try:
            size = os.stat(file.path).st_size
        except FileNotFoundError:
            raise ShardError(file.path, "is missing: copy it from where the shards were made, or make them again") from None
        if size != file.bytes:
            raise ShardError(file.path, f"has {size} bytes, the manifest says {file.bytes}: copy it again, or make the shards again")
        if verify and _sha256(file.path) != file.sha256:
            raise ShardError(file.path, "its SHA-256 is not that of the manifest: copy it again, or make the shards again")

    def _list_files(self, split):
        if os.path.isfile(self.path):
            names, folder, any_split = [os.path.basename(self.path)], os.path.dirname(self.path), True
        else:
            if os.path.exists(os.path.join(self.path, "plan.json")):
                raise ShardError(self.path, "is not finished: run the same prepare-data command again, which resumes it")
            names, folder, any_split = sorted(n for n in os.listdir(self.path) if _THIRD_PARTY.match(n)), self.path, False
        self.path = folder or "."
        self.files = []
        for ordinal, name in enumerate(names):
            held_out = name.startswith(EVAL + "-")
            if any_split or held_out == (split == EVAL):
                path = os.path.join(folder, name)
                self.files.append(File(path, ordinal, os.stat(path).st_size, None, None))

    def specials(self) -> Specials:
        """The special tokens, from the manifest or from vocab.txt."""
        made = self.options.get("tokenizer")
        if made:
            return Specials(made["vocab_size"], *(made.get(k, -1) for k in ("pad", "cls", "sep", "mask")))
        words = self.vocabulary()
        return Specials(len(words), *(_last(words, token) for token in ("[PAD]", "[CLS]", "[SEP]", "[MASK]")))

    @property
    def padding(self) -> int:
        """The id after the tokens of a record: with a vocab.txt 0, wherever [PAD] is."""
        made = self.options.get("tokenizer")
        return made.get("pad", 0) if made else 0

    def vocabulary(self) -> List[str]:
        """The tokens of vocab.txt."""
        path = os.path.join(self.path, "vocab.txt")
        try:
            with open(path, encoding="utf-8", newline="\n") as f:
                return [line.strip() for line in f]
        except FileNotFoundError:
            raise ShardError(path, "is missing: put the vocabulary of the records beside them") from None


def _last(words, token):
    """The id of a token; of equal lines the last one counts."""
    for i in range(len(words) - 1, -1, -1):
        if words[i] == token:
            return i
    return -1


def _find(path):
    """The folder of shards at a path: itself, DIR/shards or the only one in DIR."""
    if not os.path.isdir(path):
        raise FileNotFoundError(f"{path}: no such file or folder")
    inside = [os.path.join(path, "shards")]
    inside += [os.path.join(path, n) for n in sorted(os.listdir(path)) if n != "shards"]
    inside = [f for f in inside if _stage(f) == "examples"]
    if _stage(path) == "examples" or not inside:
        return path
    if len(inside) > 1 and os.path.basename(inside[0]) != "shards":
        raise ShardError(path, f"has several folders of shards: give one of {', '.join(inside)}")
    return inside[0]


def _stage(path):
    try:
        return _load(os.path.join(path, "manifest.json")).get("stage")
    except (OSError, ShardError):
        return None


def _load(path):
    with open(path, "rb") as f:
        data = f.read()
    try:
        return json.loads(data)
    except ValueError as err:
        raise ShardError(path, f"is not JSON ({err}): copy the folder again, or make the shards again") from None


def _sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for part in iter(lambda: f.read(1 << 20), b""):
            digest.update(part)
    return digest.hexdigest()
