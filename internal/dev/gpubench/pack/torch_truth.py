#!/usr/bin/env python3
"""Computes in PyTorch, in fp32, the batch that "gpubench truth" wrote into a folder, with our dropout masks.

    python3 torch_truth.py DIR

It reads truth.json (configuration, dropout, seed), weights.safetensors and batch.safetensors, and writes for dropout 0
and for dropout the gradients of all weights, "torch NAME.safetensors", then the loss, "torch NAME.loss". It needs
nothing but torch and numpy, on a GPU or, for small batches, a CPU. Layers are computed again in the backward pass, so
that BERT-large on 65,536 tokens needs about 40 GB.
"""
import json, math, os, struct, sys, time

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

DEV = "cuda" if torch.cuda.is_available() else "cpu"
HEAD = 64
WORD = 0xFFFFFFFF


def read(path):
    """Reads the float32 tensors of a safetensors file."""
    with open(path, "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(size))
        data = np.fromfile(f, dtype=np.float32)
    header.pop("__metadata__", None)
    return {name: torch.from_numpy(data[e["data_offsets"][0] // 4:e["data_offsets"][1] // 4].reshape(e["shape"])) for name, e in header.items()}


def write(path, tensors):
    """Writes float32 tensors as a safetensors file."""
    header, at = {}, 0
    for name, x in tensors.items():
        header[name] = dict(dtype="F32", shape=list(x.shape), data_offsets=[at, at + 4 * x.numel()])
        at += 4 * x.numel()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for x in tensors.values():
            x.detach().float().cpu().contiguous().numpy().tofile(f)


# ---------------------------------------------------------------- dropout: the definition of package trainer/dropout

def philox(seed, c0, c1, c2, c3):
    """Philox4x32-10 with 64-bit integers: products wrap, as unsigned ones do, and shifts are masked."""
    k0, k1 = seed
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32 & WORD) ^ c1 ^ k0, p1 & WORD, (p0 >> 32 & WORD) ^ c3 ^ k1, p0 & WORD
        k0, k1 = k0 + 0x9E3779B9 & WORD, k1 + 0xBB67AE85 & WORD
    return c0, c1, c2, c3


class Dropout:
    EMBEDDINGS, PROBABILITIES, ATTENTION, FEED_FORWARD = range(4)

    def __init__(self, seed, p, position):
        self.seed, self.keep, self.position = seed, 256 - round(256 * p), position

    def scaled(self, words):
        """The bytes of the four words, as factors (..., 16)."""
        b = torch.stack([w >> 8 * j & 255 for w in words for j in range(4)], -1)
        return (b < self.keep).float() * (256 / self.keep)

    def hidden(self, x, kind, layer, sequence, row):
        """x (T, H), of which token t is the row row[t] of the sequence sequence[t]."""
        if self.keep == 256:
            return x
        h = x.shape[1]
        block = torch.arange(h // 16, device=x.device)
        c3 = row[:, None] * (h // 16) + block
        c0 = self.position[sequence][:, None].expand_as(c3)
        c2 = torch.full_like(c3, kind | layer << 8)
        return x * self.scaled(philox(self.seed, c0 & WORD, c0 >> 32 & WORD, c2, c3)).reshape(x.shape)

    def probabilities(self, layer, group, heads, n):
        """Factors (B, A, n, n) for the sequences of a group; n is a multiple of 32."""
        ar = lambda k: torch.arange(k, device=group.device)
        shape = (len(group), heads, n // 16, 8, n // 32, 4)
        view = lambda x, d: x.view([-1 if i == d else 1 for i in range(6)])
        lane = view(ar(8), 3) * 4 + view(ar(4), 5)
        c3 = (lane | view(ar(n // 32), 4) << 5 | view(ar(n // 16), 2) << 14 | view(ar(heads), 1) << 24).expand(shape)
        c0 = view(self.position[group], 0).expand(shape)
        f = self.scaled(philox(self.seed, c0 & WORD, c0 >> 32 & WORD, torch.full_like(c3, self.PROBABILITIES | layer << 8), c3))
        # Bytes are (k mod 32)/8, (r mod 16)/8, k mod 2: to rows 16·R + 8·rr + r8 and columns 32·K + 8·kk + 2·k4 + k2.
        f = f.view(*shape, 4, 2, 2).permute(0, 1, 2, 7, 3, 4, 6, 5, 8)
        return f.reshape(len(group), heads, n, n)


# ---------------------------------------------------------------- the model

class Model:
    def __init__(self, config, weights, batch):
        self.c, self.w = config, weights
        whole = lambda name: batch[name].to(DEV).long()
        self.ids, self.segments, self.masked, self.labels, self.nsp = (whole(n) for n in ("ids", "segments", "masked", "labels", "nsp"))
        self.bounds, self.position = whole("bounds"), whole("position")
        lengths = self.bounds[1:] - self.bounds[:-1]
        self.sequence = torch.repeat_interleave(torch.arange(len(lengths), device=DEV), lengths)
        self.row = torch.arange(len(self.ids), device=DEV) - self.bounds[:-1][self.sequence]
        self.groups = self.grouped(lengths.tolist())

    def grouped(self, lengths):
        """Sequences of similar length, padded to a multiple of 32: (sequences, index (B, n) of their tokens, or T for padding)."""
        groups, order = [], sorted(range(len(lengths)), key=lambda s: -lengths[s])
        while order:
            n = -(-lengths[order[0]] // 32) * 32
            take = max(1, (1 << 27) // (n * n * self.c["num_attention_heads"]))
            group, order = order[:take], order[take:]
            index = torch.full((len(group), n), len(self.ids), dtype=torch.long)
            for i, s in enumerate(group):
                first = int(self.bounds[s])
                index[i, :lengths[s]] = torch.arange(first, first + lengths[s])
            groups.append((torch.tensor(group, device=DEV), index.to(DEV)))
        return groups

    def dense(self, x, name):
        return F.linear(x, self.w[name + ".weight"], self.w[name + ".bias"])

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.w[name + ".weight"], self.w[name + ".bias"], self.c["layer_norm_eps"])

    def attention(self, x, i, drop):
        """The context of the tokens x (T, H)."""
        heads, name = self.c["num_attention_heads"], f"bert.encoder.layer.{i}.attention.self."
        padded = lambda y: torch.cat([y, y.new_zeros(1, y.shape[1])])
        q, k, v = (padded(self.dense(x, name + part)) for part in ("query", "key", "value"))
        parts, places = [], []
        for group, index in self.groups:
            b, n = index.shape
            split = lambda y: y[index].view(b, n, heads, HEAD).transpose(1, 2)
            real = index < len(x)
            scores = split(q) @ split(k).transpose(2, 3) / math.sqrt(HEAD)
            p = scores.masked_fill(~real[:, None, None, :], -math.inf).softmax(-1)
            if drop.keep < 256:
                p = p * drop.probabilities(i, group, heads, n)
            parts.append((p @ split(v)).transpose(1, 2).reshape(b, n, -1)[real])
            places.append(index[real])
        return torch.cat(parts)[torch.cat(places).argsort()]

    def layer(self, x, i, drop):
        name = f"bert.encoder.layer.{i}."
        y = self.dense(self.attention(x, i, drop), name + "attention.output.dense")
        x = self.norm(drop.hidden(y, Dropout.ATTENTION, i, self.sequence, self.row) + x, name + "attention.output.LayerNorm")
        y = self.dense(F.gelu(self.dense(x, name + "intermediate.dense"), approximate="tanh"), name + "output.dense")
        return self.norm(drop.hidden(y, Dropout.FEED_FORWARD, i, self.sequence, self.row) + x, name + "output.LayerNorm")

    def loss(self, drop):
        e = "bert.embeddings."
        x = self.w[e + "word_embeddings.weight"][self.ids] + self.w[e + "position_embeddings.weight"][self.row] + self.w[e + "token_type_embeddings.weight"][self.segments]
        x = drop.hidden(self.norm(x, e + "LayerNorm"), Dropout.EMBEDDINGS, 0, self.sequence, self.row)
        for i in range(self.c["num_hidden_layers"]):
            x = checkpoint(self.layer, x, i, drop, use_reentrant=False)
        t = "cls.predictions.transform."
        y = self.norm(F.gelu(self.dense(x[self.masked], t + "dense"), approximate="tanh"), t + "LayerNorm")
        logits = F.linear(y, self.w[e + "word_embeddings.weight"], self.w["cls.predictions.bias"])
        mlm = F.cross_entropy(logits, self.labels, reduction="sum") / (len(self.labels) + 1e-5)
        pooled = torch.tanh(self.dense(x[self.bounds[:-1]], "bert.pooler.dense"))
        return mlm + F.cross_entropy(self.dense(pooled, "cls.seq_relationship"), self.nsp)


def main():
    folder, begin = sys.argv[1], time.time()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    with open(os.path.join(folder, "truth.json")) as f:
        setup = json.load(f)
    weights = {name: w.to(DEV).requires_grad_() for name, w in read(os.path.join(folder, "weights.safetensors")).items()}
    model = Model(setup["config"], weights, read(os.path.join(folder, "batch.safetensors")))
    for p, name in ((0, "torch fp32"), (setup["dropout"], "torch fp32 with dropout")):
        loss = model.loss(Dropout((setup["seed_low"], setup["seed_high"]), p, model.position))
        gradients = dict(zip(weights, torch.autograd.grad(loss, list(weights.values()))))
        write(os.path.join(folder, name + ".safetensors"), gradients)
        with open(os.path.join(folder, name + ".loss"), "w") as f:
            f.write(repr(loss.item()))
        print(f"torch_truth.py: {name}: loss {loss.item()}, {time.time() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
