"""Dynamic masking: new tokens to predict in every epoch (RoBERTa, arXiv 1907.11692)."""

from dataclasses import dataclass
from typing import Optional

from ._random import philox

IGNORED = -100
"""The label of a token that is not predicted: what PyTorch's losses ignore."""


@dataclass(frozen=True)
class Masking:
    """Which tokens are predicted, and what they become in the input.

    The masks are those of ``train-bert train --dynamic-masking`` with the same seed:
    they depend on the seed, the epoch and the record, not on ranks, workers or the
    order of reading. A target becomes [MASK] with the probability ``mask``, a random
    token with ``random``, else it stays.
    """

    seed: int = 1
    prob: Optional[float] = None
    """Fraction of the tokens to predict; None: that of the records' options, or 0.15."""
    mask: float = 0.8
    random: float = 0.1
    max_predictions: int = 0
    """At most so many in an example; 0: as many as a record with masks has room for."""
    whole_word: bool = False
    """Mask all pieces of a word together; needs a vocabulary with ``##``."""

    def __post_init__(self):
        if self.prob is not None and not 0 < self.prob < 1:
            raise ValueError(f"prob {self.prob}: must be between 0 and 1")
        if self.mask < 0 or self.random < 0 or self.mask + self.random > 1:
            raise ValueError(f"mask {self.mask} and random {self.random}: must not be negative, nor above 1 together")
        if self.max_predictions < 0:
            raise ValueError(f"max_predictions {self.max_predictions}: must not be negative")
        if not 0 <= self.seed < 1 << 64:
            raise ValueError(f"seed {self.seed}: must be from 0 to 2**64 - 1")


class _Draws:
    """The random words of a record."""

    def __init__(self, key, file, record):
        self._key, self._file, self._record = key, file, record
        self._next, self._block = 0, ()

    def word(self):
        at = self._next & 3
        if at == 0:
            self._block = philox(self._key, self._next >> 2, self._file, self._record & 0xFFFFFFFF, self._record >> 32)
        self._next += 1
        return self._block[at]

    def below(self, n):
        """A number below n, each with the same probability (Lemire 2019)."""
        while True:
            product = self.word() * n
            low = product & 0xFFFFFFFF
            if low >= n or low >= (1 << 32) % n:
                return product >> 32


class Masker:
    """Applies a Masking to examples of one vocabulary."""

    def __init__(self, masking, prob, specials, continues=None):
        self.masking, self.prob, self.specials = masking, prob, specials
        self._continues = continues  # ids of pieces inside a word; None: every token is a word
        self._never = {specials.cls, specials.sep, specials.pad}
        self._below_mask = int(masking.mask * (1 << 32))
        self._below_keep = int((1 - masking.random) * (1 << 32))
        self._epoch = self._key = None

    def _words(self, ids):
        """Candidates as (first, end)."""
        words, never, inside = [], self._never, self._continues
        for at, value in enumerate(ids):
            if value in never:
                continue
            if inside is not None and words and words[-1][1] == at and value in inside:
                words[-1] = (words[-1][0], at + 1)
            else:
                words.append((at, at + 1))
        return words

    def _draws(self, epoch, file, record, piece):
        if epoch != self._epoch:
            low, high, _, _ = philox(self.masking.seed, epoch & 0xFFFFFFFF, epoch >> 32,
                                     int.from_bytes(b"mask", "little"), int.from_bytes(b"keys", "little"))
            self._epoch, self._key = epoch, low | high << 32
        return _Draws(self._key, file, record + (piece << 40))

    def mask(self, ids, tokens, places, draw):
        """Masks the first tokens of a list of ids in place; returns the labels.

        places is the room for predictions, draw (epoch, file, record, piece).
        """
        words, draws = self._words(ids[:tokens]), self._draws(*draw)
        most = self.masking.max_predictions or places
        count, targets = min(most, max(1, round(tokens * self.prob))), []
        for i in range(len(words)):
            if len(targets) >= count:
                break
            j = i + draws.below(len(words) - i)
            words[i], words[j] = words[j], words[i]
            if len(targets) + words[i][1] - words[i][0] <= count:
                targets.extend(range(*words[i]))
        labels = [IGNORED] * len(ids)
        for at in sorted(targets):
            labels[at] = ids[at]
            word = draws.word()
            if word < self._below_mask:
                ids[at] = self.specials.mask
            elif word >= self._below_keep:
                ids[at] = draws.below(self.specials.vocab_size)
        return labels
