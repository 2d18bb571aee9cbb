"""Checksums, generators and the wire form, against known values and each other."""

import hashlib
import random
import struct
import unittest

from pretext import _crc, _example, _random
from pretext._numpy import numpy


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def example(features):
    """A tf.train.Example: lists of ints, or of floats."""
    entries = b""
    for name, values in features.items():
        if values and isinstance(values[0], float):
            feature = field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
        else:
            feature = field(3, field(1, b"".join(varint(v & (1 << 64) - 1) for v in values)))
        entries += field(1, field(1, name.encode()) + field(2, feature))
    return field(1, entries)


def as_lists(features):
    return {name: values if isinstance(values, list) else values.tolist() for name, values in features.items()}


class Checksums(unittest.TestCase):
    def test_known_values(self):
        # RFC 3720, B.4
        for data, want in [(bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E), (b"123456789", 0xE3069283)]:
            self.assertEqual(_crc.crc32c_plain(data), want)
            self.assertEqual(_crc.crc32c(data), want)

    def test_every_length_is_the_same_by_numpy(self):
        rng = random.Random(1)
        for n in [*range(0, 1200, 13), 511, 512, 513, 544, 1024, 70_001]:
            data = rng.randbytes(n)
            self.assertEqual(_crc.crc32c(data), _crc.crc32c_plain(data), n)


class Generators(unittest.TestCase):
    def test_chacha8_is_that_of_the_specification(self):
        # C2SP, chacha8rand.md, the sample of this seed
        draw = _random.ChaCha8(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ123456").draw
        self.assertEqual([draw() for _ in range(4)], [0xB773B6063D4616A5, 0x1160AF22A66ABC3C, 0x8C2599D9418D287C, 0x7EE07E037EDC5CD6])

    @unittest.skipIf(numpy is None, "without NumPy there is one form")
    def test_chacha8_is_the_same_by_numpy(self):
        rng = random.Random(2)
        for _ in range(5):
            key = struct.unpack("<8I", rng.randbytes(32))
            self.assertEqual(_random._chacha8_numpy(key), _random._chacha8_plain(key))

    def test_philox_is_that_of_its_authors(self):
        # kat_vectors of Random123, philox 4x32 10
        for counter, key, want in [
            ((0, 0, 0, 0), 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
            ((0xFFFFFFFF,) * 4, 0xFFFFFFFFFFFFFFFF, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
            ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), 0x299F31D0A4093822, (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
        ]:
            self.assertEqual(_random.philox(key, *counter), want)

    def test_a_permutation_has_every_number(self):
        order = _random.permutation(hashlib.sha256(b"x").digest(), 1000)
        self.assertEqual(sorted(order), list(range(1000)))
        self.assertNotEqual(order, sorted(order))


class WireForm(unittest.TestCase):
    def test_what_was_encoded_is_decoded(self):
        rng = random.Random(3)
        for _ in range(200):
            want = {"input_ids": [rng.randrange(1 << rng.choice([1, 7, 8, 14, 17, 31, 63])) for _ in range(rng.randrange(1, 40))],
                    "negative": [-1, -rng.randrange(1 << 62)], "input_mask": [1] * 20, "weights": [0.5, 1.0], "empty": []}
            self.assertEqual(as_lists(_example.parse(example(want))), want)

    def test_lists_may_be_unpacked(self):
        values = b"".join(varint(1 << 3) + varint(v) for v in (1, 300, 70_000))
        entry = field(1, b"input_ids") + field(2, field(3, values))
        self.assertEqual(as_lists(_example.parse(field(1, field(1, entry)))), {"input_ids": [1, 300, 70_000]})

    def test_no_bytes_are_anything_but_an_example_or_an_error(self):
        rng, good, errors = random.Random(4), example({"input_ids": list(range(0, 40_000, 999)), "weights": [1.0] * 5}), 0
        for _ in range(3000):
            data = bytearray(good)
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            data = bytes(data[:rng.choice([len(data), rng.randrange(len(data))])])
            try:
                _example.parse(data)
            except _example.Malformed:
                errors += 1
        self.assertGreater(errors, 1000)


if __name__ == "__main__":
    unittest.main()
