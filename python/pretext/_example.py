"""The wire form of tf.train.Example: what docs/file-format.md calls the payload."""

import struct

from ._numpy import numpy


class Malformed(Exception):
    """Bytes that are no tf.train.Example; becomes a ShardError with their place."""


def _varint(data, at, end):
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            break
    raise Malformed("a truncated or overlong number")


def _fields(data, at, end):
    """Yields (number, value) of a message: an int, or (start, end) of bytes."""
    while at < end:
        key, at = _varint(data, at, end)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(data, at, end)
            yield number, value
            continue
        if kind == 2:
            length, at = _varint(data, at, end)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise Malformed(f"a field of wire type {kind}")
        if length > end - at:
            raise Malformed("a truncated field")
        yield number, (at, at + length)
        at += length


def _signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def _int64s_plain(data):
    """Packed varints, one after the other."""
    values, at, end = [], 0, len(data)
    while at < end:
        value, at = _varint(data, at, end)
        values.append(_signed(value & 0xFFFFFFFFFFFFFFFF))
    return values


def int64s(data):
    """The values of a packed list of int64: an array, without NumPy a list."""
    if numpy is None:
        return _int64s_plain(data)
    raw = numpy.frombuffer(data, dtype=numpy.uint8)
    last = raw < 128
    if last.all():
        return raw.astype(numpy.int64)
    if not last[-1]:
        raise Malformed("a truncated or overlong number")
    ends = numpy.flatnonzero(last)
    starts = numpy.empty_like(ends)
    starts[0], starts[1:] = 0, ends[:-1] + 1
    more = ends - starts  # bytes after the first
    longest = int(more.max())
    if longest > 9:
        raise Malformed("a truncated or overlong number")
    values = (raw[starts] & 127).astype(numpy.uint64)
    for i in range(1, longest + 1):
        has = numpy.flatnonzero(more >= i)
        values[has] |= (raw[starts[has] + i] & 127).astype(numpy.uint64) << numpy.uint64(7 * i)
    return values.view(numpy.int64)


def _floats(data):
    if len(data) % 4:
        raise Malformed("a truncated list of floats")
    if numpy is None:
        return list(struct.unpack(f"<{len(data) // 4}f", data))
    return numpy.frombuffer(data, dtype="<f4")


def _list(data, at, end, unpack):
    """The bytes of field 1 of an Int64List or FloatList, packed or not."""
    parts = []
    for number, value in _fields(data, at, end):
        if number != 1:
            continue
        if isinstance(value, int):  # not packed
            byte = bytearray()
            while value > 127:
                byte.append(value & 127 | 128)
                value >>= 7
            byte.append(value)
            parts.append(bytes(byte))
        else:
            parts.append(data[value[0]:value[1]])
    return unpack(parts[0] if len(parts) == 1 else b"".join(parts))


def parse(data: bytes) -> dict:
    """The lists of numbers of a tf.train.Example, by the name of the feature."""
    out = {}
    for number, features in _fields(data, 0, len(data)):
        if number != 1 or isinstance(features, int):
            continue
        for number, entry in _fields(data, *features):
            if number == 1 and not isinstance(entry, int):
                name, values = _entry(data, *entry)
                out[name] = values
    return out


def _entry(data, at, end):
    """Name and values of an entry of the map of features."""
    name, values = "", []
    for number, value in _fields(data, at, end):
        if isinstance(value, int):
            continue
        if number == 1:
            name = data[value[0]:value[1]].decode("utf-8", "replace")
        elif number == 2:
            for kind, place in _fields(data, *value):
                if isinstance(place, int):
                    continue
                if kind == 3:
                    values = _list(data, *place, int64s)
                elif kind == 2:
                    values = _list(data, *place, _floats)
    return name, values
