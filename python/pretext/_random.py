"""The generators of train-bert: the same seed gives the same order and the same masks.

ChaCha8 (C2SP, chacha8rand) shuffles; Philox4x32-10 (Salmon et al., "Parallel random
numbers: as easy as 1, 2, 3", SC 2011) draws masks.
"""

import struct

from ._numpy import numpy

_WORD = 0xFFFFFFFF
_CONSTANTS = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)  # "expand 32-byte k"
_COLUMNS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
_DIAGONALS = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def _turn(x, n):
    return (x << n | x >> 32 - n) & _WORD


def _chacha8_block(key, counter):
    """The 16 words of a block. Only words 4 to 11 have the key added at the end."""
    s = [*_CONSTANTS, *key, counter, 0, 0, 0]
    for _ in range(4):
        for a, b, c, d in _COLUMNS + _DIAGONALS:
            s[a] = s[a] + s[b] & _WORD
            s[d] = _turn(s[d] ^ s[a], 16)
            s[c] = s[c] + s[d] & _WORD
            s[b] = _turn(s[b] ^ s[c], 12)
            s[a] = s[a] + s[b] & _WORD
            s[d] = _turn(s[d] ^ s[a], 8)
            s[c] = s[c] + s[d] & _WORD
            s[b] = _turn(s[b] ^ s[c], 7)
    for i in range(8):
        s[4 + i] = s[4 + i] + key[i] & _WORD
    return s


def _chacha8_plain(key):
    """The 16 blocks of a key, four of them interleaved, as bytes."""
    words = []
    for first in range(0, 16, 4):
        blocks = [_chacha8_block(key, first + i) for i in range(4)]
        words.extend(word for row in zip(*blocks) for word in row)
    return struct.pack("<256I", *words)


def _chacha8_numpy(key):
    """_chacha8_plain with all columns of all blocks at once."""
    state = numpy.zeros((4, 4, 16), dtype=numpy.uint32)  # row, column, block
    state[0] = numpy.array(_CONSTANTS, dtype=numpy.uint32)[:, None]
    state[1:3] = numpy.array(key, dtype=numpy.uint32).reshape(2, 4, 1)
    state[3, 0] = numpy.arange(16)
    a, b, c, d = state.copy()
    for _ in range(4):
        for diagonal in (False, True):
            if diagonal:
                b, c, d = b[[1, 2, 3, 0]], c[[2, 3, 0, 1]], d[[3, 0, 1, 2]]
            for left, right in ((16, 12), (8, 7)):
                a = a + b
                d ^= a
                d = d << numpy.uint32(left) | d >> numpy.uint32(32 - left)
                c = c + d
                b ^= c
                b = b << numpy.uint32(right) | b >> numpy.uint32(32 - right)
            if diagonal:
                b, c, d = b[[3, 0, 1, 2]], c[[2, 3, 0, 1]], d[[1, 2, 3, 0]]
    words = numpy.stack([a, b + state[1], c + state[2], d]).reshape(16, 4, 4)
    return words.transpose(1, 0, 2).astype("<u4").tobytes()


class ChaCha8:
    """Draws of 64 bits from a key of 32 bytes."""

    def __init__(self, key: bytes):
        self._key = key
        self._values, self._at = (), 0

    def draw(self) -> int:
        if self._at == len(self._values):
            words = struct.unpack("<8I", self._key)
            out = _chacha8_plain(words) if numpy is None else _chacha8_numpy(words)
            self._values, self._at = struct.unpack("<124Q", out[:-32]), 0
            self._key = out[-32:]  # of the next 16 blocks
        self._at += 1
        return self._values[self._at - 1]


def permutation(key: bytes, n: int) -> list:
    """The numbers below n in the order of a key (Fisher-Yates)."""
    order, draw = list(range(n)), ChaCha8(key).draw
    for i in range(n - 1, 0, -1):
        j = draw() * (i + 1) >> 64
        order[i], order[j] = order[j], order[i]
    return order


def philox(key: int, c0: int, c1: int, c2: int, c3: int):
    """One block of Philox4x32-10: the four words of a counter."""
    k0, k1 = key & _WORD, key >> 32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = p1 >> 32 ^ c1 ^ k0, p1 & _WORD, p0 >> 32 ^ c3 ^ k1, p0 & _WORD
        k0, k1 = k0 + 0x9E3779B9 & _WORD, k1 + 0xBB67AE85 & _WORD
    return c0, c1, c2, c3
