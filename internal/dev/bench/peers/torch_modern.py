"""Training speed of ModernBERT on the processor: train-bert and PyTorch, in one run.

    python torch_modern.py TRAIN_BERT [--lengths 128,512] [--threads 1] [--rounds 5] [--seconds 2]

In each round every work runs once for some seconds, one after the other, and ratios are taken within the
round; the median of the rounds is printed. Speeds are tokens a second of processor time (user and system,
all threads), which other programs at work disturb less than the clock.

The model is train-bert's modern-mini with a vocabulary of 8,000, on full sequences, 4,096 tokens a step, 15 %
of them predicted. PyTorch's has no padding: the dense layers and norms run over the rows of all sequences, scaled_dot_product_attention over
all sequences at once, with the band as a mask in local layers, and the head over the masked tokens alone. It has no dropout, and
AdamW is fused; train-bert's has the dropout of the preset.
"""

import argparse
import json
import os
import statistics
import subprocess
import time

parser = argparse.ArgumentParser()
parser.add_argument("train_bert")
parser.add_argument("--lengths", default="128,512")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--seconds", type=float, default=2)
args = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(args.threads)

import torch  # noqa: E402  (reads the variables)
from torch.nn import functional  # noqa: E402

torch.set_num_threads(args.threads)
TOKENS, VOCAB, LAYERS, HIDDEN, HEADS, WIDE, REACH, EPS = 4096, 8000, 4, 256, 4, 384, 64, 1e-5
SIZE = HIDDEN // HEADS


class Torch:
    def __init__(self, length):
        torch.manual_seed(1)
        self.length, self.sequences = length, TOKENS // length
        self.ids = torch.randint(VOCAB, (TOKENS,))
        self.masked = torch.randperm(TOKENS)[:TOKENS * 15 // 100].sort().values
        matrix = lambda *shape: torch.nn.Parameter(torch.randn(*shape) * 0.02)
        gain = lambda: torch.nn.Parameter(torch.ones(HIDDEN))
        self.words, self.embedded, self.bias = matrix(VOCAB, HIDDEN), gain(), torch.nn.Parameter(torch.zeros(VOCAB))
        self.layers = [(gain() if i else None, matrix(3 * HIDDEN, HIDDEN), matrix(HIDDEN, HIDDEN), gain(), matrix(2 * WIDE, HIDDEN), matrix(HIDDEN, WIDE))
                       for i in range(LAYERS)]
        self.final, self.dense, self.head = gain(), matrix(HIDDEN, HIDDEN), gain()
        every = [self.words, self.embedded, self.bias, self.final, self.dense, self.head]
        every += [p for layer in self.layers for p in layer if p is not None]
        self.optimizer = torch.optim.AdamW(every, lr=1e-4, fused=True)
        at = torch.arange(length)
        self.near = (at[:, None] - at).abs() <= REACH if length > REACH + 1 else None
        self.turns = [self.angles(at, theta) for theta in (160000.0, 10000.0)]

    @staticmethod
    def angles(at, theta):
        angle = at[:, None] * theta ** (-torch.arange(0, SIZE, 2) / SIZE)
        angle = torch.cat([angle, angle], -1)[None, :, None]
        return angle.cos(), angle.sin()

    def attention(self, qkv, i):
        q, k, v = qkv.view(self.sequences, self.length, 3, HEADS, SIZE).unbind(2)
        cos, sin = self.turns[i % 3 > 0]
        turned = lambda x: x * cos + torch.cat([-x[..., SIZE // 2:], x[..., :SIZE // 2]], -1) * sin
        out = functional.scaled_dot_product_attention(turned(q).transpose(1, 2), turned(k).transpose(1, 2), v.transpose(1, 2),
                                                      attn_mask=self.near if i % 3 > 0 else None)
        return out.transpose(1, 2).reshape(TOKENS, HIDDEN)

    def loss(self):
        norm = lambda x, gain: functional.layer_norm(x, (HIDDEN,), gain, None, EPS)
        x = norm(self.words[self.ids], self.embedded)
        for i, (before, qkv, out, between, up, down) in enumerate(self.layers):
            x = x + functional.linear(self.attention(functional.linear(x if before is None else norm(x, before), qkv), i), out)
            value, gate = functional.linear(norm(x, between), up).chunk(2, -1)
            x = x + functional.linear(functional.gelu(value) * gate, down)
        x = norm(functional.gelu(functional.linear(norm(x[self.masked], self.final), self.dense)), self.head)
        return functional.cross_entropy(functional.linear(x, self.words, self.bias), self.ids[self.masked])

    def round(self):
        start, clock, tokens = time.process_time(), time.perf_counter(), 0
        while tokens == 0 or time.perf_counter() - clock < args.seconds:
            self.optimizer.zero_grad(set_to_none=True)
            self.loss().backward()
            self.optimizer.step()
            tokens += TOKENS
        return tokens / (time.process_time() - start)


class Ours:
    def __init__(self, length):
        self.command = [args.train_bert, "bench", "--json", "--rounds", "1", "--seconds", str(args.seconds), "--threads", str(args.threads), "--model", "modern-mini",
                        "--vocab-size", str(VOCAB), "--max-seq-length", str(length), "--train-batch-size", str(TOKENS // length)]

    def round(self):
        return json.loads(subprocess.run(self.command, check=True, capture_output=True, text=True).stdout)["tokens_per_cpu_second"]


print(f"torch {torch.__version__}, {args.threads} thread(s), {args.rounds} rounds\n")
print("| tokens a sequence | train-bert, tokens/s | PyTorch | ratio (least to greatest) |")
print("|---:|---:|---:|---:|")
for length in map(int, args.lengths.split(",")):
    works = [Ours(length), Torch(length)]
    works[1].round()
    rounds = [[w.round() for w in works] for _ in range(args.rounds)]
    ours, theirs = (statistics.median(r[i] for r in rounds) for i in range(2))
    ratio = sorted(r[0] / r[1] for r in rounds)
    print(f"| {length} | {ours:,.0f} | {theirs:,.0f} | {statistics.median(ratio):.2f} ({ratio[0]:.2f} to {ratio[-1]:.2f}) |", flush=True)
