"""The error of this package."""


class ShardError(ValueError):
    """Shards that cannot be read: damaged, unfinished, or of an unknown form.

    ``file`` is the path; ``offset`` the first byte of the record in the
    uncompressed file, ``record`` its number in the file, or None.
    """

    def __init__(self, file, reason=None, record=None, offset=None):
        if reason is None:  # PyTorch raises again what a worker raised, with its traceback as the only argument
            super().__init__(file)
            self.file = self.reason = self.record = self.offset = None
            return
        place = str(file)
        if record is not None:
            place += f": record {record}"
        if offset is not None:
            place += f" at byte {offset}"
        super().__init__(f"{place}: {reason}")
        self.file, self.reason, self.record, self.offset = str(file), reason, record, offset

    def __reduce__(self):
        return ShardError, (self.file, self.reason, self.record, self.offset)
