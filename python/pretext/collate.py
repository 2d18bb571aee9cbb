"""Batches of examples of different lengths."""

from typing import Any, Dict, List

from ._numpy import numpy
from ._tensors import torch
from .masking import IGNORED


class Collate:
    """A collate_fn: cuts a batch to its longest example, and pads the others to that.

        DataLoader(data, batch_size=32, collate_fn=Collate(data.pad_token_id))

    Padding at the end of examples, where ``attention_mask`` is 0, is cut off; the length
    of the batch is rounded up to a multiple of ``pad_to_multiple_of``.
    """

    def __init__(self, pad_token_id: int = 0, pad_to_multiple_of: int = 1):
        if pad_to_multiple_of < 1:
            raise ValueError(f"pad_to_multiple_of {pad_to_multiple_of}: must be at least 1")
        self.multiple = pad_to_multiple_of
        self.padding = {"input_ids": pad_token_id, "attention_mask": 0, "token_type_ids": 0, "labels": IGNORED,
                        "position_ids": 0, "sequence_ids": -1}

    def __call__(self, items: List[Dict[str, Any]]) -> Dict[str, Any]:
        length = max(int(sum(item["attention_mask"])) if isinstance(item["attention_mask"], list) else int(item["attention_mask"].sum()) for item in items)
        length = -(-length // self.multiple) * self.multiple
        return {name: self._stack(name, [item[name] for item in items], length) for name in items[0]}

    def _stack(self, name, values, length):
        first = values[0]
        if torch is not None and torch.is_tensor(first):
            if first.dim() == 0:
                return torch.stack(values)
            out = torch.full((len(values), length), self.padding[name], dtype=first.dtype)
            for row, value in zip(out, values):
                n = min(length, len(value))
                row[:n] = value[:n]
            return out
        if numpy is not None and isinstance(first, numpy.ndarray):
            if first.ndim == 0:
                return numpy.stack(values)
            out = numpy.full((len(values), length), self.padding[name], dtype=first.dtype)
            for row, value in zip(out, values):
                n = min(length, len(value))
                row[:n] = value[:n]
            return out
        if not isinstance(first, list):
            return list(values)
        return [value[:length] + [self.padding[name]] * (length - len(value)) for value in values]
