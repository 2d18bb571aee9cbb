"""Sequences by number: records, or pieces of documents, as lists that a model takes."""

import bisect
import json
from array import array
from itertools import accumulate

from ._errors import ShardError
from ._folder import Folder
from ._order import Order, Span, spans
from ._records import Reader
from .masking import IGNORED, Masker, Masking

_OLD_NAMES = {"input_word_ids": "input_ids", "input_type_ids": "segment_ids"}  # of TensorFlow's model garden
_FEATURES = {
    "pairs": ("input_ids", "input_mask", "segment_ids", "masked_lm_positions", "masked_lm_ids", "masked_lm_weights", "next_sentence_labels"),
    "tokens": ("input_ids",),
    "packed": ("input_ids", "sequence_lengths"),
    "pieces": ("input_ids",),
}
_FEATURES["masked"] = _FEATURES["pairs"][:-1]


class Sequences:
    """What ShardDataset and ShardStream read."""

    def __init__(self, path, split, options):
        self.folder = Folder(path, split, options.verify)
        self.reader = Reader(self.folder, options.cache, options.checksums)
        self.indexes = [self.reader.index(i) for i in range(len(self.folder.files))]
        self.form = self.folder.form or self._sniff()
        self.most = self._most(options.max_seq_length)  # tokens of a piece, without [CLS] and [SEP]
        self.specials = self.masker = None
        if self.most or options.masking:
            self.specials = self.folder.specials()
        if self.most and min(self.specials.cls, self.specials.sep) < 0:
            raise ShardError(self.folder.path, "its vocabulary has no [CLS] or no [SEP]: make the shards with another tokenizer")
        if options.masking:
            self.masker = self._masker(options.masking)
        self._before = [self._count(i) for i in range(len(self.indexes))] if self.most else None
        counts = [b[-1] for b in self._before] if self.most else [len(x) for x in self.indexes]
        self._first = [0, *accumulate(counts)]  # number of the first sequence of each file

    def __len__(self):
        return self._first[-1]

    def order(self, seed):
        """The order of an epoch."""
        all_spans = []
        for i, index in enumerate(self.indexes):
            number = self._before[i].__getitem__ if self.most else int
            all_spans += [Span(self._first[i] + number(a), number(b) - number(a)) for a, b in spans(index)]
        return Order(seed & 0xFFFFFFFFFFFFFFFF, all_spans)

    def at(self, number, epoch):
        """A sequence as a dict of lists, by the names of Hugging Face."""
        file = bisect.bisect_right(self._first, number) - 1
        record, piece, pieces = number - self._first[file], 0, 1
        if self.most:
            before, sequence = self._before[file], record
            record = bisect.bisect_right(before, sequence) - 1
            piece, pieces = sequence - before[record], before[record + 1] - before[record]
        features = self._features(file, record)
        draw = (epoch, self.folder.files[file].ordinal, record, piece)
        if self.form == "tokens":
            if pieces != self._pieces(len(features["input_ids"])):
                raise ShardError(self.folder.files[file].path, "has another length than its side-car says: copy the folder again, or make the shards again", record)
            return self._piece(features["input_ids"], piece, pieces, draw)
        if self.form == "packed":
            return self._row(features, draw)
        if self.form == "pieces":
            return self._sequence(features["input_ids"], draw)
        return self._pair(features, draw)

    def _features(self, file, record):
        """The features of a record as lists, checked."""
        index = self.indexes[file]
        features = self.reader.example(file, record, index.start(record), index.start(record + 1))
        out = {_OLD_NAMES.get(name, name): values if isinstance(values, list) else values.tolist() for name, values in features.items()}
        wrong = self._wrong(out)
        if wrong:
            raise ShardError(self.folder.files[file].path, wrong, record, index.start(record))
        return out

    def _wrong(self, features):
        """What is wrong with the features of a record; None: nothing."""
        for name in _FEATURES[self.form]:
            if name not in features:
                return f"the feature {name} is missing: the record is not of the form {self.form}"
        length = {name: len(values) for name, values in features.items()}
        if self.form == "packed":
            return None if sum(features["sequence_lengths"]) <= length["input_ids"] else "its pieces are longer than its row"
        if self.form in ("tokens", "pieces"):
            return None if length["input_ids"] else "input_ids is empty"
        places = length["masked_lm_positions"]
        if not (length["input_ids"] == length["input_mask"] == length["segment_ids"] and places == length["masked_lm_ids"] == length["masked_lm_weights"]):
            return f"its features have unequal lengths ({length})"
        if places and not 0 <= min(features["masked_lm_positions"]) <= max(features["masked_lm_positions"]) < length["input_ids"]:
            return "masked_lm_positions are outside of its tokens"
        return None

    def _pair(self, f, draw):
        """A record of google or mlm, with the padding that it has."""
        ids, labels = f["input_ids"], [IGNORED] * len(f["input_ids"])
        for at, value, weight in zip(f["masked_lm_positions"], f["masked_lm_ids"], f["masked_lm_weights"]):
            if weight > 0:
                labels[at] = value
        if self.masker:
            ids = [i if label == IGNORED else label for i, label in zip(ids, labels)]
            labels = self.masker.mask(ids, sum(f["input_mask"]), len(f["masked_lm_positions"]), draw)
        out = {"input_ids": ids, "attention_mask": f["input_mask"], "token_type_ids": f["segment_ids"], "labels": labels}
        if self.form == "pairs":
            out["next_sentence_label"] = f["next_sentence_labels"][0]
        return out

    def _piece(self, document, piece, pieces, draw):
        """A piece of a document between [CLS] and [SEP], without padding."""
        n = len(document)
        return self._sequence([self.specials.cls, *document[n * piece // pieces:n * (piece + 1) // pieces], self.specials.sep], draw)

    def _sequence(self, ids, draw):
        """A sequence that begins with [CLS] and ends with [SEP], without padding."""
        out = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": [0] * len(ids)}
        if self.masker:
            out["labels"] = self.masker.mask(ids, len(ids), len(ids), draw)
        return out

    def _row(self, f, draw):
        """A packed row, with the number of each token's piece and its place in that."""
        ids, lengths = f["input_ids"], f["sequence_lengths"]
        tokens = sum(lengths)
        rest = len(ids) - tokens
        out = {"input_ids": ids, "attention_mask": [1] * tokens + [0] * rest, "token_type_ids": [0] * len(ids),
               "position_ids": [p for n in lengths for p in range(n)] + [0] * rest,
               "sequence_ids": [i for i, n in enumerate(lengths) for _ in range(n)] + [-1] * rest}
        if self.masker:
            out["labels"] = self.masker.mask(ids, tokens, tokens, draw)
        return out

    def _sniff(self):
        """The form of files without a manifest, by the first record."""
        for i, index in enumerate(self.indexes):
            if len(index):
                names = {_OLD_NAMES.get(n, n) for n in self.reader.example(i, 0, 0, index.start(1))}
                for form in ("pairs", "masked", "packed", "tokens"):
                    if names >= set(_FEATURES[form]):
                        return "pieces" if form == "tokens" and self._enclosed() else form
                raise ShardError(self.folder.files[i].path, f"its features {sorted(names)} are not those of BERT", 0, 0)
        raise ShardError(self.folder.path, "has no records")

    def _enclosed(self):
        """Whether the first record of each file begins with [CLS] and ends with [SEP], as pieces do."""
        try:
            specials = self.folder.specials()
        except ShardError:
            return False
        first = [self.reader.example(i, 0, 0, index.start(1)) for i, index in enumerate(self.indexes) if len(index)]
        ends = [(ids[0], ids[-1], len(ids) > 2) for f in first for ids in [f.get("input_ids", f.get("input_word_ids"))] if len(ids)]
        return all(end == (specials.cls, specials.sep, True) for end in ends)

    def _most(self, max_seq_length):
        if self.form != "tokens":
            if max_seq_length is not None:
                raise ValueError(f"max_seq_length is for shards of the recipe tokens: {self.folder.path} has sequences already")
            return 0
        if max_seq_length is None or max_seq_length < 3:
            raise ValueError(f"{self.folder.path}: its records are whole documents: give max_seq_length, at least 3, into which they are cut")
        return max_seq_length - 2

    def _count(self, number):
        """The number of sequences of a file before each of its records, and in all."""
        before = array("q", [0])
        for tokens in self._lengths(number):
            before.append(before[-1] + self._pieces(tokens))
        return before

    def _pieces(self, tokens):
        """The number of pieces of a document: the fewest, of lengths that differ by one at most."""
        return max(1, -(-tokens // self.most))

    def _lengths(self, number):
        """The tokens of each document of a file: from the side-car, or all are read."""
        file, index = self.folder.files[number], self.indexes[number]
        if file.records is None:
            return [len(self._features(number, i)["input_ids"]) for i in range(len(index))]
        path = file.beside(".json")
        try:
            with open(path, "rb") as f:
                lengths = json.load(f)["body"]["tokens"]
            if len(lengths) != len(index):
                raise ValueError("the number of records differs")
        except (OSError, ValueError, KeyError, TypeError) as err:
            raise ShardError(path, f"does not list the records of the shard ({err}): copy the folder again, or make the shards again") from None
        return lengths

    def _masker(self, masking: Masking):
        prob = masking.prob
        if prob is None:
            prob = self.folder.options.get("masked_lm_prob", 0.15) if self.form in ("pairs", "masked") else 0.15
        if self.specials.mask < 0:
            raise ShardError(self.folder.path, "its vocabulary has no mask token, so no masks can be drawn: make the shards with another tokenizer")
        inside = None
        if masking.whole_word:
            if self.folder.options.get("tokenizer"):
                raise ValueError("whole_word needs a vocab.txt, whose pieces begin with ##: these shards have a tokenizer.json")
            inside = frozenset(i for i, token in enumerate(self.folder.vocabulary()) if token.startswith("##"))
        return Masker(masking, prob, self.specials, inside)
