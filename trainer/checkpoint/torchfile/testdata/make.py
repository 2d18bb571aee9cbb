"""Writes the files of this folder with PyTorch: python make.py"""

import json
from collections import OrderedDict

import torch

base = torch.arange(24, dtype=torch.float32).reshape(4, 6) / 4
tensors = OrderedDict(
    whole=base,
    tied=base,  # the same storage, twice
    transposed=base.t(),
    rows=base[1:3],
    columns=base[:, 2:4],
    every_other=base[::2, 1::2],
    permuted=torch.arange(24, dtype=torch.float32).reshape(2, 3, 4).permute(2, 0, 1),
    scalar=torch.tensor(2.5),
    empty=torch.zeros(0, 5),
    one_row=base[3:4].t(),
    half=torch.tensor([1.0, -2.5, 65504.0], dtype=torch.float16),
    bfloat16=torch.tensor([1.0, -2.5, 3.0e38], dtype=torch.bfloat16),
    double=torch.tensor([[1 / 3]], dtype=torch.float64),
    long=torch.tensor([[0, 1, 2]]),
    parameter=torch.nn.Parameter(torch.tensor([0.5, 1.5])),
)
torch.save(tensors, "tensors.bin")
with open("tensors.json", "w") as f:
    json.dump({name: {"shape": list(t.shape), "values": t.detach().double().flatten().tolist()} for name, t in tensors.items()}, f)

linear = torch.nn.Linear(3, 2)
torch.save(linear.state_dict(), "state_dict.bin")  # an OrderedDict with attributes
torch.save(linear, "module.bin")
torch.save({"state_dict": {"w": base}, "epoch": 3}, "checkpoint.bin")
torch.save(base[:1, :2], "tensor.bin")
torch.save({"w": torch.ones(1).expand(3, 1000)}, "expanded.bin")
torch.save({"w": base}, "legacy.bin", _use_new_zipfile_serialization=False)
