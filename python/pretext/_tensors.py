"""What a dataset returns: PyTorch's tensors, NumPy's arrays or lists."""

from ._numpy import numpy

try:
    import torch
    from torch.utils.data import IterableDataset, get_worker_info
except ImportError:
    torch = None
    IterableDataset = object

    def get_worker_info():
        """Without PyTorch nothing has workers."""
        return None


def converter(kind):
    """A function that converts a list of numbers, or one, to what the user asked for."""
    if kind is None:
        kind = "torch" if torch is not None else "numpy" if numpy is not None else "list"
    if kind == "torch" and torch is not None:
        return lambda values: torch.tensor(values, dtype=torch.int64)
    if kind == "numpy" and numpy is not None:
        return lambda values: numpy.array(values, dtype=numpy.int64)
    if kind == "list":
        return lambda values: values
    if kind in ("torch", "numpy"):
        raise ImportError(f"tensors={kind!r}: {kind} is not installed: pip install {kind}")
    raise ValueError(f'tensors={kind!r}: must be "torch", "numpy" or "list"')


class SharedNumber:
    """A number that the workers of a DataLoader see when the main process changes it."""

    def __init__(self, value=0):
        self._value = value if torch is None else torch.tensor([value], dtype=torch.int64).share_memory_()

    def get(self) -> int:
        return self._value if torch is None else int(self._value[0])

    def set(self, value):
        if torch is None:
            self._value = value
        else:
            self._value[0] = value


def ranks(rank, world):
    """The number of this process and of all: as given, or those of torch.distributed."""
    import os

    if (rank is None) != (world is None):
        raise ValueError("give both rank and world, or none")
    if rank is None:
        if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank(), torch.distributed.get_world_size()
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise ValueError(f"WORLD_SIZE is {os.environ['WORLD_SIZE']}, but torch.distributed is not initialized: "
                             "call torch.distributed.init_process_group first, or give rank and world")
        return 0, 1
    if not 0 <= rank < world:
        raise ValueError(f"rank {rank} of {world}: must be from 0 to one less")
    return rank, world
