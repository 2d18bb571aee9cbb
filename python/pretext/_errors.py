"""The error of this package."""


class ShardError(ValueError):
    """Shards that cannot be read: damaged, unfinished, or of an unknown form.

    ``file`` is the path; ``offset`` the first byte of the record in the
    uncompressed file, ``record`` its number in the file, or None.
    """

    def __init__(self, file, reason, record=None, offset=None):
        place = str(file)
        if record is not None:
            place += f": record {record}"
        if offset is not None:
            place += f" at byte {offset}"
        super().__init__(f"{place}: {reason}")
        self.file, self.reason, self.record, self.offset = str(file), reason, record, offset

    def __reduce__(self):  # workers of a DataLoader pickle what they raise
        return ShardError, (self.file, self.reason, self.record, self.offset)
