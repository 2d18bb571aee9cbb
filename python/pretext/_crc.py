"""CRC-32C (Castagnoli), the checksum of TFRecord files, in Python or by NumPy."""

from ._numpy import numpy

_POLYNOMIAL = 0x82F63B78  # reflected
_CHUNK = 512  # bytes that NumPy looks up at once


def _make_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _make_table()


def _update(crc: int, data) -> int:
    table = _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc


def crc32c_plain(data: bytes) -> int:
    """CRC-32C, a byte at a time."""
    return _update(0xFFFFFFFF, data) ^ 0xFFFFFFFF


def _make_adds():
    """What a byte at each place of a full chunk adds to its checksum.

    The checksum is linear: that of a chunk is the XOR of what each of its bytes adds,
    which depends on the byte and on how many bytes follow. The checksum of what
    stands before the chunk is first added to its first four bytes.
    """
    table = numpy.array(_TABLE, dtype=numpy.uint32)
    adds = numpy.empty((_CHUNK, 256), dtype=numpy.uint32)
    adds[-1] = table
    for place in range(_CHUNK - 2, -1, -1):
        adds[place] = table[adds[place + 1] & 255] ^ adds[place + 1] >> 8
    return adds.reshape(-1), numpy.arange(_CHUNK) * 256


_tables = None  # of _make_adds: made when they are needed first


def crc32c(data) -> int:
    """CRC-32C of bytes."""
    global _tables
    if numpy is None or len(data) < 32:
        return crc32c_plain(data)
    if _tables is None:
        _tables = _make_adds()
    adds, places = _tables
    values, crc = numpy.frombuffer(data, dtype=numpy.uint8), 0xFFFFFFFF
    for start in range(0, len(values), _CHUNK):
        chunk = values[start:start + _CHUNK]
        n = len(chunk)
        if n < 32:
            crc = _update(crc, chunk.tolist())
            continue
        at = places[_CHUNK - n:] + chunk
        at[:4] ^= (crc & 255, crc >> 8 & 255, crc >> 16 & 255, crc >> 24)
        crc = int(numpy.bitwise_xor.reduce(adds[at]))
    return crc ^ 0xFFFFFFFF


def masked(crc: int) -> int:
    """The checksum as TFRecord stores it."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
