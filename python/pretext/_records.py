"""Frames of TFRecord files by number: where they are, and what they hold."""

import gzip
import os
import re
import shutil
import struct
import threading
import zlib
from array import array
from collections import OrderedDict

from ._crc import crc32c, masked
from ._errors import ShardError
from ._example import Malformed, parse
from ._numpy import numpy

_HEADER, _FRAME = 12, 16  # bytes before the payload; before and after it
_LARGEST = 64 << 20  # bytes of a payload
_BAD_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)
_OPEN = 64  # files that are kept open

_DAMAGED = "the file is damaged: prepare-data verify lists all damage; copy the file again, or make the shards again"
_COMPRESSED = ("is compressed, so its records can only be read in order: give cache=FOLDER, where it is written "
               "uncompressed once, or make the shards with --compression none")


class Index:
    """Where the records of a file begin, and where the last one ends."""

    def __init__(self, starts):
        self.starts = starts if numpy is None else numpy.frombuffer(starts, dtype=numpy.int64)

    def __len__(self):
        return len(self.starts) - 1

    def start(self, record):
        """The first byte of a frame, for the number after the last the end of the file."""
        return int(self.starts[record])

    def find(self, offset, first):
        """The last record at or after first that begins at or before an offset."""
        if numpy is not None:
            return int(numpy.searchsorted(self.starts, offset, side="right")) - 1
        low, high = first, len(self.starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.starts[middle] <= offset else (low, middle)
        return low


class Reader:
    """Reads frames. Each process opens the files for itself, so workers may share it."""

    def __init__(self, folder, cache=None, checksums=True):
        self.folder, self.checksums = folder, checksums
        self._paths = [f.path for f in folder.files]
        self._whole = None  # (number, content) of the compressed file that was read last
        self._open, self._owner, self._lock = OrderedDict(), None, threading.Lock()
        if cache is not None:
            self._paths = [_uncompress(f, os.fspath(cache)) if f.compressed else f.path for f in folder.files]

    def __getstate__(self):
        return dict(self.__dict__, _open=OrderedDict(), _owner=None, _lock=None, _whole=None)

    def __setstate__(self, state):
        self.__dict__.update(state, _lock=threading.Lock())

    def close(self):
        """Closes the files that this process has open; reading opens them again."""
        for f in self.__dict__.get("_open", {}).values():
            f.close()
        self._open = OrderedDict()

    __del__ = close

    def compressed(self, number):
        return self._paths[number].endswith(".gz")

    def need_random_access(self):
        for path in self._paths:
            if path.endswith(".gz"):
                raise ShardError(path, _COMPRESSED)

    def index(self, number) -> Index:
        """The index of a file: its .idx, or what its lengths say."""
        file = self.folder.files[number]
        if file.records is None:
            return self._scan(number)
        path = file.beside(".idx")
        try:
            with open(path, "rb") as f:
                fields = f.read().split()
        except FileNotFoundError:
            raise ShardError(path, "is missing: copy it from where the shards were made, or make them again") from None
        starts = array("q", bytes(8))
        end = 0
        try:
            for offset, length in zip(map(int, fields[::2]), map(int, fields[1::2])):
                if offset != end or length < _FRAME:
                    raise ValueError
                end += length
                starts.append(end)
            wrong = len(fields) % 2 or len(starts) - 1 != file.records
            if wrong or not file.compressed and end != file.bytes:
                raise ValueError
        except ValueError:
            raise ShardError(path, f"is not the index of {os.path.basename(file.path)}: copy both again, or make the shards again") from None
        return Index(starts)

    def _scan(self, number):
        """The index of a file without .idx, by the lengths of its records."""
        starts, at = array("q", bytes(8)), 0
        size = len(self._content(number)) if self.compressed(number) else os.stat(self._paths[number]).st_size
        while at < size:
            record = len(starts) - 1
            header = self._read(number, at, _HEADER)
            length = self._length(number, record, at, header) if len(header) == _HEADER else size
            if length > size - at - _FRAME:
                raise self._damage(number, record, at, "the file ends inside the record")
            at += _FRAME + length
            starts.append(at)
        return Index(starts)

    def example(self, number, record, offset, end):
        """The features of a record, by name."""
        length = end - offset
        frame = self._read(number, offset, length)
        if len(frame) != length:
            raise self._damage(number, record, offset, "the file ends inside the record")
        size = self._length(number, record, offset, frame)
        if size != length - _FRAME:
            raise self._damage(number, record, offset, "its length is not that of the index")
        payload = frame[_HEADER:-4]
        if self.checksums and masked(crc32c(payload)) != struct.unpack("<I", frame[-4:])[0]:
            raise self._damage(number, record, offset, "the checksum of the payload does not match")
        try:
            return parse(payload)
        except Malformed as err:
            raise self._damage(number, record, offset, f"no tf.train.Example ({err})") from None

    def _length(self, number, record, offset, frame):
        """The length of the payload, from the header of a frame."""
        length, checksum = struct.unpack_from("<QI", frame)
        if masked(crc32c(frame[:8])) != checksum or length > _LARGEST:
            raise self._damage(number, record, offset, "the length of the record is corrupt")
        return length

    def _damage(self, number, record, offset, what):
        return ShardError(self.folder.files[number].path, f"{what}: {_DAMAGED}", record, offset)

    def _read(self, number, offset, length):
        if self.compressed(number):
            return self._content(number)[offset:offset + length]
        if self._owner != os.getpid():  # a fork must not share a position in a file
            self.close()
            self._owner, self._lock = os.getpid(), threading.Lock()
        with self._lock:
            f = self._open.pop(number, None) or open(self._paths[number], "rb", buffering=0)
            self._open[number] = f
            if len(self._open) > _OPEN:
                self._open.popitem(last=False)[1].close()
            f.seek(offset)
            data = f.read(length)
            while 0 < len(data) < length:
                more = f.read(length - len(data))
                if not more:
                    break
                data += more
            return data

    def _content(self, number):
        """The records of a compressed file, which is kept until another one is read."""
        if self._whole is None or self._whole[0] != number:
            path = self._paths[number]
            try:
                with gzip.open(path, "rb") as f:
                    self._whole = number, f.read()
            except _BAD_GZIP as err:
                raise ShardError(path, f"cannot be uncompressed ({err}): {_DAMAGED}") from None
        return self._whole[1]


def _uncompress(file, cache):
    """Writes a compressed file to the cache, unless it is there, and returns the path."""
    identity = file.sha256[:16] if file.sha256 else f"{file.bytes}-{os.stat(file.path).st_mtime_ns}"
    name = re.sub(r"\.gz$", "", os.path.basename(file.path))
    path = os.path.join(cache, f"{identity}-{name}")
    if os.path.exists(path):
        return path
    os.makedirs(cache, exist_ok=True)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with gzip.open(file.path, "rb") as source, open(temporary, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        os.replace(temporary, path)  # several ranks may do so at once
    except _BAD_GZIP as err:
        raise ShardError(file.path, f"cannot be uncompressed ({err}): {_DAMAGED}") from None
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)
    return path
