"""Shards as datasets of PyTorch."""

from dataclasses import dataclass
from typing import Any, Dict, Iterator, Optional, Union
from os import PathLike

from ._sequences import Sequences
from ._tensors import IterableDataset, SharedNumber, converter, get_worker_info, ranks
from .masking import Masking

Path = Union[str, "PathLike[str]"]
Item = Dict[str, Any]


@dataclass(frozen=True)
class Options:
    """How shards are read.

    masking         new tokens to predict in every epoch; None: those of the records,
                    or none, if the recipe is ``tokens``, ``packed`` or ``pieces``
    max_seq_length  of the pieces, with [CLS] and [SEP], into which the documents of
                    the recipe ``tokens`` are cut
    cache           folder for uncompressed copies of compressed shards
    tensors         "torch", "numpy" or "list"; None: the first that is installed
    checksums       check the checksum of every record that is read
    verify          compare every file with the SHA-256 of the manifest first
    """

    masking: Optional[Masking] = None
    max_seq_length: Optional[int] = None
    cache: Optional[Path] = None
    tensors: Optional[str] = None
    checksums: bool = True
    verify: bool = False


class _Dataset:
    """What both datasets have."""

    def __init__(self, path, split, options):
        self.options = options
        self._sequences = Sequences(path, split, options)
        self._shared = SharedNumber()
        converter(options.tensors)

    @property
    def form(self) -> str:
        """What a record is: pairs, masked, tokens, packed or pieces (docs/file-format.md)."""
        return self._sequences.form

    @property
    def pad_token_id(self) -> int:
        """The id of padding, for :class:`Collate`."""
        return self._sequences.folder.padding

    @property
    def epoch(self) -> int:
        return self._shared.get()

    def set_epoch(self, epoch: int) -> None:
        """Selects the masks and the order; call it before each epoch, as for a DistributedSampler.

        Workers of a DataLoader see it, persistent ones too.
        """
        if epoch < 0:
            raise ValueError(f"epoch {epoch}: must not be negative")
        self._shared.set(epoch)

    def _item(self, number, epoch) -> Item:
        convert = converter(self.options.tensors)
        return {name: convert(values) for name, values in self._sequences.at(number, epoch).items()}


class ShardDataset(_Dataset):
    """The examples of a folder of shards by number: a map-style dataset.

        data = ShardDataset("data", split="train")
        loader = DataLoader(data, batch_size=32, shuffle=True, num_workers=2)

    ``path`` is a folder of shards, the folder of a run, or TFRecord files of others.
    An item has the names that Hugging Face's models take: ``input_ids``,
    ``attention_mask``, ``token_type_ids``, ``labels`` (-100 where nothing is predicted),
    and of pairs ``next_sentence_label``; of packed rows also ``position_ids``, from 0 in
    each piece, and ``sequence_ids``, the number of the piece (-1: padding).
    """

    def __init__(self, path: Path, split: str = "train", **options: Any):
        super().__init__(path, split, Options(**options))
        self._sequences.reader.need_random_access()

    def __len__(self) -> int:
        return len(self._sequences)

    def __getitem__(self, number: int) -> Item:
        n = len(self)
        if not -n <= number < n:
            raise IndexError(f"example {number} of {n}")
        return self._item(number % n, self.epoch)


class ShardStream(_Dataset, IterableDataset):
    """The examples in the order of training: an iterable dataset.

        stream = ShardStream("data", split="train", seed=1, batch_size=32)
        loader = DataLoader(stream, batch_size=32, num_workers=2)
        for epoch in range(3):
            stream.set_epoch(epoch)
            for batch in loader: ...

    Every example comes once in an epoch, over all ranks and workers together, whatever
    their numbers. Position p of an epoch belongs to rank p mod world, and is the same
    example for any number of ranks: that of ``train-bert train --seed``.

    rank, world   of this process; None: those of torch.distributed
    shuffle       False: the order of the files, as for evaluation
    tail          "keep": ranks differ by one example at most; "drop": the last ones are
                  left out, so that all have equally many; "repeat": first ones come again
    batch_size    that of the DataLoader: its batches are then the same for any number
                  of workers, and only the last one is short
    """

    def __init__(self, path: Path, split: str = "train", *, rank: Optional[int] = None, world: Optional[int] = None,
                 seed: int = 1, shuffle: bool = True, tail: str = "keep", batch_size: int = 1, **options: Any):
        super().__init__(path, split, Options(**options))
        if tail not in ("keep", "drop", "repeat"):
            raise ValueError(f'tail {tail!r}: must be "keep", "drop" or "repeat"')
        if batch_size < 1:
            raise ValueError(f"batch_size {batch_size}: must be at least 1")
        self.rank, self.world = ranks(rank, world)
        self.tail, self.batch_size = tail, batch_size
        self._start = SharedNumber()
        self._order = None
        if shuffle:
            self._sequences.reader.need_random_access()
            self._order = self._sequences.order(seed)

    def set_epoch(self, epoch: int, start: int = 0) -> None:
        """Selects the epoch, and the position in it to resume from: examples that all ranks have read."""
        if not 0 <= start <= len(self._sequences):
            raise ValueError(f"start {start}: must be from 0 to the {len(self._sequences)} examples of an epoch")
        super().set_epoch(epoch)
        self._start.set(start)

    def __len__(self) -> int:
        """The number of examples of this rank, from the position that was set."""
        left = len(self._sequences) - self._start.get()
        if self.tail == "keep":
            return max(0, -(-(left - self.rank) // self.world))
        return left // self.world if self.tail == "drop" else -(-left // self.world)

    def __iter__(self) -> Iterator[Item]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info is not None else (0, 1)
        epoch, start, total = self.epoch, self._start.get(), len(self._sequences)
        for i in range(len(self)):
            if i // self.batch_size % workers == worker:
                position = (start + self.rank + i * self.world) % total
                yield self._item(position if self._order is None else self._order.at(epoch, position), epoch)
