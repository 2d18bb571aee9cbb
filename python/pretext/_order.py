"""The order of train-bert: position p of an epoch is the same example here and there.

Spans of at most 16 MiB are shuffled, then the sequences of each window of eight spans.
"""

import bisect
import struct
from typing import NamedTuple

from ._random import permutation

_BLOCK, _SPAN, _WINDOW = 64 << 10, 16 << 20, 8


class Span(NamedTuple):
    first: int  # number of its first sequence
    count: int


def spans(index, limit=_SPAN):
    """Yields the spans of a file as (first record, end).

    A span ends where a block ends; a block is 64 KiB of records, or one longer record.
    """
    def block(record):
        return max(record + 1, index.find(index.start(record) + _BLOCK, record))

    first, last = 0, len(index)
    while first < last:
        end = block(first)
        while end < last:
            after = block(end)
            if index.start(after) - index.start(first) > limit:
                break
            end = after
        yield first, end
        first = end


class Order:
    """Which sequence stands at each position of an epoch."""

    def __init__(self, seed, all_spans):
        self._seed, self._spans = seed, all_spans
        self._epoch = self._window = self._order = None
        self._starts, self._lists = [], []

    def _key(self, window):
        return struct.pack("<Qqqq", self._seed, self._epoch, window, 0)

    def _lay_out(self, epoch):
        self._epoch, self._window = epoch, None
        permuted = [self._spans[i] for i in permutation(self._key(-1), len(self._spans))]
        self._lists = [permuted[i:i + _WINDOW] for i in range(0, len(permuted), _WINDOW)]
        self._starts = [0]
        for window in self._lists:
            self._starts.append(self._starts[-1] + sum(s.count for s in window))

    def at(self, epoch, position):
        """The number of the sequence at a position."""
        if epoch != self._epoch:
            self._lay_out(epoch)
        window = bisect.bisect_right(self._starts, position) - 1
        if window != self._window:
            self._window = window
            self._order = permutation(self._key(window), self._starts[window + 1] - self._starts[window])
        place = self._order[position - self._starts[window]]
        for span in self._lists[window]:
            if place < span.count:
                return span.first + place
            place -= span.count
        raise AssertionError("a window has fewer sequences than its order")
