"""Reads the shards of prepare-data in PyTorch.

    from torch.utils.data import DataLoader
    from pretext import Collate, ShardDataset

    data = ShardDataset("data", split="train")
    loader = DataLoader(data, batch_size=32, shuffle=True, num_workers=2, collate_fn=Collate(data.pad_token_id))
    for batch in loader:
        loss = model(**batch).loss

ShardDataset reads examples by number, ShardStream in the order of training, divided
among ranks and workers. Masking draws new masks in every epoch. The only dependencies
are optional: without PyTorch items are NumPy's arrays, without NumPy lists.
"""

from ._errors import ShardError
from .collate import Collate
from .datasets import ShardDataset, ShardStream
from .masking import IGNORED, Masking

__all__ = ["Collate", "IGNORED", "Masking", "ShardDataset", "ShardError", "ShardStream"]
