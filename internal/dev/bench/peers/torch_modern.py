"""Training speed of ModernBERT on the processor: train-bert and PyTorch, in one run.

    python torch_modern.py TRAIN_BERT [--lengths 128,512] [--threads 1] [--isa avx2] [--rounds 5] [--seconds 2]

turns.py says how speeds are measured.

The model is train-bert's modern-mini with a vocabulary of 8,000, on full sequences, 4,096 tokens a step, 15 %
of them predicted. PyTorch's has no padding: the dense layers and norms run over the rows of all sequences, scaled_dot_product_attention over
all sequences at once, with the band as a mask in local layers, and the head over the masked tokens alone. It has no dropout, and
AdamW is fused; train-bert's has the dropout of the preset.
"""

import turns

args = turns.flags(lengths="128,512")

import torch  # noqa: E402  (reads the variables)
from torch.nn import functional  # noqa: E402

torch.set_num_threads(args.threads)
TOKENS, VOCAB, LAYERS, HIDDEN, HEADS, WIDE, REACH, EPS = 4096, 8000, 4, 256, 4, 384, 64, 1e-5
SIZE = HIDDEN // HEADS


class Torch(turns.Peer):
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

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss().backward()
        self.optimizer.step()
        return TOKENS


print(f"torch {torch.__version__}, {args.threads} thread(s), {args.rounds} rounds\n")
print("| tokens a sequence | train-bert, tokens/s | PyTorch | ratio (least to greatest) |")
print("|---:|---:|---:|---:|")
for length in map(int, args.lengths.split(",")):
    ours = turns.Ours(args, "--model", "modern-mini", "--vocab-size", VOCAB, "--max-seq-length", length, "--train-batch-size", TOKENS // length)
    s = turns.Speeds(args, ours, Torch(length))
    print(f"| {length} | {s.median(0):,.0f} | {s.median(1):,.0f} | {s.ratio()} |", flush=True)
