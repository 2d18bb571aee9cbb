#!/usr/bin/env python3
"""Throughput of one BERT pre-training step (MLM + NSP, forward + backward + clip + AdamW) in PyTorch on one GPU.

What it measures, for BERT-large / BERT-base at sequence length 512 / 128:
  hf_autocast_eager    transformers.BertForPreTraining, fp32 weights, bf16 autocast, SDPA, padded   (HF Trainer bf16=True)
  hf_autocast_compile  the same under torch.compile                                                 (what most users run)
  hf_bf16_compile      HF model in bf16 with fp32 master weights in the optimizer, compiled, padded
  fast_padded_compile  a plain PyTorch BERT: one QKV matmul, tanh GELU, MLM head only on masked positions, padded
  fast_varlen_compile  the same without any padding, FlashAttention-2 varlen with dropout             (the best PyTorch here)
Data: 'full' (every sequence S long) and 'wiki' (lengths like MLPerf's Wikipedia: mean about 254 of 512); --lengths FILE
takes real lengths (a line "LENGTH COUNT" each, as gpubench prints) instead of 'wiki'.  Padded variants use batches of --tokens slots, unpadded ones
batches of --tokens real tokens, so that both fill the GPU.  sequences/s and tokens/s count REAL sequences and tokens.

First it checks itself: RefBert (plain, padded, fp32) against the fast model and, if transformers is there, against
HF's own model with the same weights; the varlen flash kernel against fp32; all by relative error of loss and gradients.
Nothing is timed if a check fails (unless --no-stop).

  python3 torch_step.py --selftest                 # checks only; runs on a CPU too (torch >= 2.1)
  python3 torch_step.py --smoke --compile layer    # the whole program with a tiny model, also without a GPU: no number counts
  python3 torch_step.py --ceilings                 # matmul / copy / BERT GEMM shapes / attention kernels, about 20 s
  python3 torch_step.py --models large --seqs 512,128 --data wiki --out torch.json
A cold torch.compile of BERT-large takes 1 to 2 minutes; --compile layer compiles one layer and reuses it (seconds).
"""
import argparse, contextlib, gc, json, math, os, random, statistics, sys, time, traceback

os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
import torch
import torch.nn as nn
import torch.nn.functional as F

T0 = time.time()
MODELS = {"large": dict(L=24, H=1024, A=16, I=4096), "base": dict(L=12, H=768, A=12, I=3072),
          "tiny": dict(L=2, H=128, A=2, I=512)}
V, MAXPOS, EPS = 30528, 512, 1e-12  # 30522 padded to a multiple of 64, as NVIDIA does
HIDDEN_DROP = ATTN_DROP = 0.1
CAP = {512: 76, 128: 20}
DEV = "cuda" if torch.cuda.is_available() else "cpu"


class WallEvent:
    """torch.cuda.Event's two methods on a machine without a GPU (for --smoke)."""

    def __init__(s, enable_timing=True):
        s.t = 0.0

    def record(s):
        s.t = time.perf_counter()

    def elapsed_time(s, other):
        return (other.t - s.t) * 1e3


def event():
    return torch.cuda.Event(enable_timing=True) if DEV == "cuda" else WallEvent()


def sync():
    if DEV == "cuda":
        torch.cuda.synchronize()


def say(*a):
    print(f"[{time.time() - T0:6.1f}s]", *a, flush=True)


# ---------------------------------------------------------------- data

def draw_lengths(kind, S, seed, path=None):
    """Endless stream of sequence lengths <= S."""
    rnd = random.Random(seed)
    if kind == "full":
        while True:
            yield S
    if path:
        rows = [list(map(int, x.split())) for x in open(path) if x.strip()]
        ls, counts = [min(S, max(8, r[0])) for r in rows], [r[1] for r in rows]
        while True:
            yield from rnd.choices(ls, counts, k=1000)
    full, lo, hi = (0.20, 32, 350) if S == 512 else (0.60, 32, 120)  # 512: mean 255, E[l^2]/E[l] = 346
    while True:
        yield S if rnd.random() < full else rnd.randint(lo, min(hi, S))


def lengths_for(kind, S, tokens, padded, path=None):
    g = draw_lengths(kind, S, 1, path)
    if padded:
        return [next(g) for _ in range(tokens // S)]
    out, left = [], tokens
    while left:
        l = min(next(g), left)
        if left - l < 16 and left <= S:  # the last one takes the rest, so that the batch has exactly `tokens` tokens
            l = left
        out.append(l)
        left -= l
    return out


def n_masked(l, S):
    return max(1, min(CAP.get(S, 76), round(0.15 * l), l - 2))


def make_sequences(lens, S, seed):
    g = torch.Generator().manual_seed(seed)
    seqs = []
    for l in lens:
        ids = torch.randint(1000, 30000, (l,), generator=g)
        ids[0], ids[-1] = 101, 102
        typ = torch.zeros(l, dtype=torch.long)
        typ[l // 2:] = 1
        k = n_masked(l, S)
        pos = (torch.randperm(l - 2, generator=g)[:k] + 1).sort().values
        lab = ids[pos].clone()
        ids[pos] = 103
        seqs.append((ids, typ, pos, lab, int(torch.randint(0, 2, (1,), generator=g))))
    return seqs


def batch_padded(seqs, S, dev):
    B = len(seqs)
    ids = torch.zeros(B, S, dtype=torch.long)
    typ, mask = torch.zeros_like(ids), torch.zeros_like(ids)
    labels = torch.full((B, S), -100)
    for b, (i, t, p, lab, _) in enumerate(seqs):
        n = len(i)
        ids[b, :n], typ[b, :n], mask[b, :n] = i, t, 1
        labels[b, p] = lab
    flat = labels.view(-1)
    idx = (flat >= 0).nonzero().squeeze(1)
    d = dict(ids=ids, typ=typ, mask=mask, labels=labels, nsp=torch.tensor([s[4] for s in seqs]), mlm_idx=idx,
             mlm_lab=flat[idx])
    d = {k: v.to(dev) for k, v in d.items()}
    d["full"] = all(len(s[0]) == S for s in seqs)
    return d


def batch_varlen(seqs, S, dev):
    lens = [len(s[0]) for s in seqs]
    cu = torch.tensor([0] + lens).cumsum(0)
    d = dict(ids=torch.cat([s[0] for s in seqs]), typ=torch.cat([s[1] for s in seqs]),
             pos=torch.cat([torch.arange(n) for n in lens]), nsp=torch.tensor([s[4] for s in seqs]),
             mlm_idx=torch.cat([s[2] + int(c) for s, c in zip(seqs, cu)]), mlm_lab=torch.cat([s[3] for s in seqs]),
             cls=cu[:-1].clone())
    d = {k: v.to(dev) for k, v in d.items()}
    d["cu"], d["S"] = cu.to(dev, torch.int32), S
    return d


def flops(cfg, lens, S):
    """Model FLOPs of forward + backward: 6 x weights x tokens, attention 12 l^2 h, MLM head on masked positions only."""
    L, H, I = cfg["L"], cfg["H"], cfg["I"]
    T, M = sum(lens), sum(n_masked(l, S) for l in lens)
    return 6.0 * L * (4 * H * H + 2 * H * I) * T + 12.0 * L * H * sum(l * l for l in lens) + 6.0 * M * (H * H + V * H) \
        + 6.0 * len(lens) * H * H


# ---------------------------------------------------------------- models

class RefBert(nn.Module):
    """Plain padded BERT with HF's parameter names; the reference for the checks."""

    def __init__(s, c):
        super().__init__()
        s.c = c
        H, I = c["H"], c["I"]
        lin = lambda i, o: nn.Linear(i, o)
        mod = lambda **k: nn.ModuleDict(k)
        ln = lambda: nn.LayerNorm(H, eps=EPS)
        s.bert = mod(
            embeddings=mod(word_embeddings=nn.Embedding(V, H), position_embeddings=nn.Embedding(MAXPOS, H),
                           token_type_embeddings=nn.Embedding(2, H), LayerNorm=ln()),
            encoder=mod(layer=nn.ModuleList(mod(
                attention=mod(self=mod(query=lin(H, H), key=lin(H, H), value=lin(H, H)),
                              output=mod(dense=lin(H, H), LayerNorm=ln())),
                intermediate=mod(dense=lin(H, I)), output=mod(dense=lin(I, H), LayerNorm=ln())) for _ in range(c["L"]))),
            pooler=mod(dense=lin(H, H)))
        pred = mod(transform=mod(dense=lin(H, H), LayerNorm=ln()))
        pred.bias = nn.Parameter(torch.zeros(V))
        s.cls = mod(predictions=pred, seq_relationship=lin(H, 2))
        for m in s.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, std=0.02)
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.bias, std=0.02)  # not zero: the checks must see every bias

    def forward(s, b):
        c, e = s.c, s.bert["embeddings"]
        B, S = b["ids"].shape
        A, D = c["A"], c["H"] // c["A"]
        x = e["word_embeddings"](b["ids"]) + e["token_type_embeddings"](b["typ"]) + e["position_embeddings"].weight[:S]
        x = e["LayerNorm"](x)
        bias = torch.zeros(B, 1, 1, S, device=x.device, dtype=x.dtype).masked_fill(b["mask"][:, None, None] == 0, -1e9)
        for l in s.bert["encoder"]["layer"]:
            q, k, v = (l["attention"]["self"][n](x).view(B, S, A, D).transpose(1, 2) for n in ("query", "key", "value"))
            p = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(D) + bias, -1)
            o = l["attention"]["output"]
            x = o["LayerNorm"](x + o["dense"]((p @ v).transpose(1, 2).reshape(B, S, -1)))
            f = F.gelu(l["intermediate"]["dense"](x), approximate="tanh")
            x = l["output"]["LayerNorm"](x + l["output"]["dense"](f))
        t = s.cls["predictions"]["transform"]
        h = t["LayerNorm"](F.gelu(t["dense"](x), approximate="tanh"))
        logits = h @ e["word_embeddings"].weight.t() + s.cls["predictions"].bias
        nsp = s.cls["seq_relationship"](torch.tanh(s.bert["pooler"]["dense"](x[:, 0])))
        return F.cross_entropy(logits.view(-1, V), b["labels"].view(-1), ignore_index=-100) + F.cross_entropy(nsp, b["nsp"])


def flash_aten(q, k, v, cu, S, p):
    return torch.ops.aten._flash_attention_forward(q, k, v, cu, cu, S, S, p, False, False)[0]


def flash_varlen_api(q, k, v, cu, S, p):  # public API, no dropout
    from torch.nn.attention.varlen import varlen_attn
    return varlen_attn(q, k, v, cu, cu, S, S)


def attn_loop(q, k, v, cu, S, p):  # one sequence at a time; any dtype, any device
    out = []
    for a, b in zip(cu[:-1].tolist(), cu[1:].tolist()):
        t = [x[a:b].transpose(0, 1)[None] for x in (q, k, v)]
        out.append(F.scaled_dot_product_attention(*t, dropout_p=p)[0].transpose(0, 1))
    return torch.cat(out)


ATTN = {"loop": attn_loop, "flash": None}  # flash is chosen by pick_flash()


class FastLayer(nn.Module):
    def __init__(s, c, attn):
        super().__init__()
        H = c["H"]
        s.A, s.attn = c["A"], attn
        s.qkv, s.proj = nn.Linear(H, 3 * H), nn.Linear(H, H)
        s.fc1, s.fc2 = nn.Linear(H, c["I"]), nn.Linear(c["I"], H)
        s.ln1, s.ln2 = nn.LayerNorm(H, eps=EPS), nn.LayerNorm(H, eps=EPS)

    def forward(s, x, cu, S, mask, shape, pa, ph):
        T, H = x.shape
        qkv = s.qkv(x)
        if shape is None:
            q, k, v = qkv.view(T, 3, s.A, H // s.A).unbind(1)
            o = ATTN[s.attn](q, k, v, cu, S, pa).reshape(T, H)
        else:
            B = shape
            q, k, v = qkv.view(B, S, 3, s.A, H // s.A).permute(2, 0, 3, 1, 4).unbind(0)
            o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=pa).transpose(1, 2).reshape(T, H)
        x = s.ln1(x + F.dropout(s.proj(o), ph))
        return s.ln2(x + F.dropout(s.fc2(F.gelu(s.fc1(x), approximate="tanh")), ph))


class FastBert(nn.Module):
    def __init__(s, c, attn="flash", drop=True):
        super().__init__()
        H = c["H"]
        s.c, s.pa, s.ph = c, ATTN_DROP if drop else 0.0, HIDDEN_DROP if drop else 0.0
        s.word, s.posn, s.seg = nn.Embedding(V, H), nn.Embedding(MAXPOS, H), nn.Embedding(2, H)
        s.ln, s.layers = nn.LayerNorm(H, eps=EPS), nn.ModuleList(FastLayer(c, attn) for _ in range(c["L"]))
        s.pool, s.nsp = nn.Linear(H, H), nn.Linear(H, 2)
        s.mdense, s.mln, s.mbias = nn.Linear(H, H), nn.LayerNorm(H, eps=EPS), nn.Parameter(torch.zeros(V))
        for m in s.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, std=0.02)
            if isinstance(m, nn.Linear):
                nn.init.zeros_(m.bias)

    def head(s, x, cls, idx, lab, nsp):
        h = s.mln(F.gelu(s.mdense(x[idx]), approximate="tanh"))
        mlm = F.cross_entropy((h @ s.word.weight.t() + s.mbias).float(), lab)
        return mlm + F.cross_entropy(s.nsp(torch.tanh(s.pool(x[cls]))).float(), nsp)

    def forward(s, b):
        if "cu" in b:
            pos, cu, S, mask, shape, cls = b["pos"], b["cu"], b["S"], None, None, b["cls"]
            ids, typ = b["ids"], b["typ"]
        else:
            B, S = b["ids"].shape
            cu, shape = None, B
            mask = None if b["full"] else b["mask"][:, None, None].bool()
            pos = torch.arange(S, device=b["ids"].device).repeat(B)
            cls = torch.arange(B, device=b["ids"].device) * S
            ids, typ = b["ids"].view(-1), b["typ"].view(-1)
        x = F.dropout(s.ln(s.word(ids) + s.seg(typ) + s.posn(pos)), s.ph)
        for l in s.layers:
            x = l(x, cu, S, mask, shape, s.pa, s.ph)
        return s.head(x, cls, b["mlm_idx"], b["mlm_lab"], b["nsp"])

    def load_ref(s, ref):
        """Copies RefBert's (or HF's) weights; returns pairs (own parameter, function from a HF-named dict to its tensor)."""
        sd = dict(ref.named_parameters())
        P = "bert.encoder.layer.%d."
        pairs = [(s.word.weight, lambda d: d["bert.embeddings.word_embeddings.weight"]),
                 (s.posn.weight, lambda d: d["bert.embeddings.position_embeddings.weight"]),
                 (s.seg.weight, lambda d: d["bert.embeddings.token_type_embeddings.weight"]),
                 (s.mbias, lambda d: d["cls.predictions.bias"])]
        for m, n in [(s.ln, "bert.embeddings.LayerNorm"), (s.pool, "bert.pooler.dense"), (s.nsp, "cls.seq_relationship"),
                     (s.mdense, "cls.predictions.transform.dense"), (s.mln, "cls.predictions.transform.LayerNorm")]:
            pairs += [(getattr(m, w), lambda d, k=f"{n}.{w}": d[k]) for w in ("weight", "bias")]
        for i, l in enumerate(s.layers):
            for w in ("weight", "bias"):
                ks = [P % i + f"attention.self.{n}.{w}" for n in ("query", "key", "value")]
                pairs.append((getattr(l.qkv, w), lambda d, ks=ks: torch.cat([d[k] for k in ks])))
                for m, n in [(l.proj, "attention.output.dense"), (l.ln1, "attention.output.LayerNorm"),
                             (l.fc1, "intermediate.dense"), (l.fc2, "output.dense"), (l.ln2, "output.LayerNorm")]:
                    pairs.append((getattr(m, w), lambda d, k=P % i + f"{n}.{w}": d[k]))
        with torch.no_grad():
            for p, f in pairs:
                p.copy_(f(sd))
        assert len(pairs) == len(list(s.parameters())), "a parameter was forgotten"
        return pairs


def hf_model(cfg, drop=True):
    import transformers
    from transformers import BertConfig, BertForPreTraining
    c = BertConfig(vocab_size=V, hidden_size=cfg["H"], num_hidden_layers=cfg["L"], num_attention_heads=cfg["A"],
                   intermediate_size=cfg["I"], hidden_act="gelu_pytorch_tanh", max_position_embeddings=MAXPOS,
                   hidden_dropout_prob=HIDDEN_DROP if drop else 0.0,
                   attention_probs_dropout_prob=ATTN_DROP if drop else 0.0, layer_norm_eps=EPS)
    err = None
    for make in (lambda: BertForPreTraining._from_config(c, attn_implementation="sdpa"), lambda: BertForPreTraining(c)):
        try:
            m = make().to(torch.float32)
            impl = getattr(m.config, "_attn_implementation", "?")
            say(f"transformers {transformers.__version__} BertForPreTraining attn={impl}")
            return m
        except Exception as e:  # another constructor spelling
            err = e
    raise err


def hf_loss(m, b):
    return m(input_ids=b["ids"], attention_mask=b["mask"], token_type_ids=b["typ"], labels=b["labels"],
             next_sentence_label=b["nsp"]).loss


# ---------------------------------------------------------------- checks

def rel(a, b):
    a, b = a.detach().double().cpu(), b.detach().double().cpu()
    return float((a - b).norm() / b.norm().clamp_min(1e-30))


def pick_flash(cfg):
    """The varlen kernel to use: the aten op (has dropout), else the public API (has none). Checked against fp32."""
    A, D = cfg["A"], cfg["H"] // cfg["A"]
    lens = [512, 77, 130, 33]
    cu = torch.tensor([0] + lens, device=DEV).cumsum(0).to(torch.int32)
    torch.manual_seed(5)
    q, k, v, go = (torch.randn(sum(lens), A, D, device=DEV) for _ in range(4))
    ref_in = [x.bfloat16().float().requires_grad_() for x in (q, k, v)]
    ref = attn_loop(*ref_in, cu, 512, 0.0)
    ref.backward(go.bfloat16().float())
    for name, f in (("aten._flash_attention_forward", flash_aten), ("nn.attention.varlen", flash_varlen_api)):
        try:
            x = [t.bfloat16().requires_grad_() for t in (q, k, v)]
            o = f(*x, cu, 512, 0.0)
            o.backward(go.bfloat16())
            es = [rel(o, ref)] + [rel(a.grad, r.grad) for a, r in zip(x, ref_in)]
            if max(es) < 2e-2:
                drop = None
                if f is flash_aten:
                    ones = torch.ones_like(v).bfloat16()
                    m = f(q.bfloat16(), k.bfloat16(), ones, cu, 512, 0.1).float()
                    drop = (float(m.mean()), float(m.std()))  # mean 1, some spread, if dropout is really applied
                    assert abs(drop[0] - 1) < 2e-2 and drop[1] > 1e-3, drop
                say(f"varlen attention: {name}, rel err o/dq/dk/dv", ["%.1e" % e for e in es], "dropout mean/std", drop)
                ATTN["flash"] = f
                return name
            say(f"{name}: wrong, {es}")
        except Exception as e:
            say(f"{name}: not usable: {type(e).__name__}: {str(e)[:200]}")
    return None


def selftest():
    ok = True

    def check(name, e, tol):
        nonlocal ok
        good = e < tol  # NaN fails
        ok &= good
        say(f"  {'ok  ' if good else 'FAIL'} {name}: {e:.2e} (< {tol:g})")

    cfg = dict(MODELS["large"], L=2) if DEV == "cuda" else MODELS["tiny"]
    torch.manual_seed(0)
    if DEV == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.set_float32_matmul_precision("highest")
    seqs = make_sequences([512, 77, 130, 33], 512, 3)
    bp, bv = batch_padded(seqs, 512, DEV), batch_varlen(seqs, 512, DEV)
    assert bv["mlm_idx"].numel() == bp["mlm_idx"].numel() and torch.equal(bv["mlm_lab"], bp["mlm_lab"])
    ref = RefBert(cfg).to(DEV)
    l0 = ref(bp)
    l0.backward()
    g0 = {n: p.grad for n, p in ref.named_parameters()}
    say("reference loss %.6f (ln V + ln 2 = %.3f)" % (l0.item(), math.log(V) + math.log(2)))
    check("loss near ln V + ln 2", abs(l0.item() - math.log(V) - math.log(2)) / 11, 0.1)
    # a finite difference along a random direction, in float64, shows that the gradient itself is right
    if DEV == "cpu":
        r64 = RefBert(cfg).double()
        r64.load_state_dict({k: v.double() for k, v in ref.state_dict().items()})
        l = r64(bp)
        l.backward()
        ps = list(r64.parameters())
        d = [torch.randn_like(p) * p.detach().std().clamp_min(1e-3) for p in ps]
        dot = sum((p.grad * x).sum() for p, x in zip(ps, d)).item()
        h = 1e-5
        with torch.no_grad():
            vals = []
            for sgn in (1, -2):
                for p, x in zip(ps, d):
                    p.add_(x, alpha=sgn * h)
                vals.append(r64(bp).item())
        check("finite difference of the reference", abs((vals[0] - vals[1]) / (2 * h) - dot) / abs(dot), 1e-5)
    modes = [("fast padded fp32", "loop", bp, None), ("fast unpadded fp32", "loop", bv, None)]
    if DEV == "cuda" and pick_flash(cfg):
        modes += [("fast unpadded bf16 flash", "flash", bv, torch.bfloat16)]
    elif DEV == "cuda":
        ok = False
    for name, attn, b, dt in modes:
        m = FastBert(cfg, attn, drop=False).to(DEV)
        pairs = m.load_ref(ref)
        if dt:
            m = m.to(dt)
        l1 = m(b)
        l1.backward()
        tol = 1e-4 if dt is None else 1e-2
        check(f"{name}: loss", abs(l1.item() - l0.item()) / l0.item(), tol)
        es = sorted((rel(p.grad, f(g0)), i) for i, (p, f) in enumerate(pairs) if f(g0).norm() > 1e-7)
        check(f"{name}: worst of {len(es)} gradients", es[-1][0], 2e-3 if dt is None else 8e-2)
        check(f"{name}: median gradient", es[len(es) // 2][0], 1e-4 if dt is None else 3e-2)
    try:
        hf = hf_model(cfg, drop=False).to(DEV)
        missing = hf.load_state_dict(ref.state_dict(), strict=False)
        bad = [k for k in missing.missing_keys if "decoder" not in k and "position_ids" not in k] + list(missing.unexpected_keys)
        check("transformers: parameters that did not match", len(bad), 1)
        hf.tie_weights()
        hf.train()
        lh = hf_loss(hf, bp)
        lh.backward()
        check("transformers fp32: loss", abs(lh.item() - l0.item()) / l0.item(), 1e-4)
        hg = {n: p.grad for n, p in hf.named_parameters() if p.grad is not None}
        es = [rel(hg[n], g) for n, g in g0.items() if n in hg and g.norm() > 1e-7]
        check(f"transformers fp32: worst of {len(es)} gradients", max(es), 2e-3)
    except ImportError:
        say("  transformers is not installed: its checks are left out")
    # a few steps on one batch must drive the loss down (optimizer, master weights, dropout all in place)
    m = FastBert(cfg, "flash" if ATTN["flash"] else "loop").to(DEV)
    st = Stepper(m, lambda mm, b: mm(b), "bf16" if DEV == "cuda" else "fp32", lr=1e-3)
    ls = [st.step(bv).item() for _ in range(12)]
    say("  overfitting one batch:", ["%.2f" % x for x in ls])
    check("loss after 12 steps over the first", ls[-1] / ls[0], 0.9)
    del m, st
    return ok


# ---------------------------------------------------------------- the training step

class Stepper:
    """mode 'autocast': fp32 weights, bf16 autocast. 'bf16': bf16 weights, fp32 masters. 'fp32'. AdamW, clip 1.0."""

    def __init__(s, model, loss, mode, lr=1e-4):
        s.model, s.loss, s.mode = model, loss, mode
        if mode == "bf16":
            named = list(model.named_parameters())
            masters = [p.detach().float().clone().requires_grad_() for _, p in named]
            model.to(torch.bfloat16)
            s.low = [p for _, p in model.named_parameters()]
            s.params = masters
            names = [n for n, _ in named]
        else:
            s.low, s.params = None, [p for p in model.parameters()]
            names = [n for n, _ in model.named_parameters()]
        nod = lambda n, p: p.ndim < 2 or n.endswith("bias") or "LayerNorm" in n
        groups = [{"params": [p for n, p in zip(names, s.params) if not nod(n, p)], "weight_decay": 0.01},
                  {"params": [p for n, p in zip(names, s.params) if nod(n, p)], "weight_decay": 0.0}]
        s.opt = torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.999), eps=1e-6, fused=DEV == "cuda")
        model.train()

    def step(s, b):
        ctx = torch.autocast(DEV, torch.bfloat16) if s.mode == "autocast" else contextlib.nullcontext()
        with ctx:
            loss = s.loss(s.model, b)
        loss.backward()
        if s.low is not None:
            for m, p in zip(s.params, s.low):
                if m.grad is None:
                    m.grad = torch.empty_like(m)
            torch._foreach_copy_([m.grad for m in s.params], [p.grad for p in s.low])
        torch.nn.utils.clip_grad_norm_(s.params, 1.0, foreach=DEV == "cuda")
        s.opt.step()
        if s.low is not None:
            with torch.no_grad():
                torch._foreach_copy_(s.low, s.params)
            for p in s.low:
                p.grad = None
        else:
            s.opt.zero_grad(set_to_none=True)
        return loss.detach()


VARIANTS = {  # name: (model, padded, mode, compile)
    "hf_autocast_eager": ("hf", True, "autocast", False), "hf_autocast_compile": ("hf", True, "autocast", True),
    "hf_bf16_compile": ("hf", True, "bf16", True), "fast_padded_compile": ("fast", True, "bf16", True),
    "fast_varlen_eager": ("fast", False, "bf16", False), "fast_varlen_compile": ("fast", False, "bf16", True)}


def run_variant(name, mname, S, kind, a, tokens):
    kind_m, padded, mode, comp = VARIANTS[name]
    cfg = MODELS[mname]
    lens = lengths_for(kind, S, tokens, padded, a.lengths)
    nb = 4
    batches = []
    for i in range(nb):  # the same lengths in another order: every shape stays the same
        ls = lens[:]
        random.Random(i).shuffle(ls)
        seqs = make_sequences(ls, S, 100 + i)
        batches.append((batch_padded if padded else batch_varlen)(seqs, S, DEV))
    torch.manual_seed(1)
    gc.collect()
    if DEV == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    torch._dynamo.reset()
    with torch.device(DEV):
        m = hf_model(cfg) if kind_m == "hf" else FastBert(cfg)
    m = m.to(DEV)
    st = Stepper(m, hf_loss if kind_m == "hf" else (lambda mm, b: mm(b)), mode)
    if comp:
        if a.compile == "layer":
            for l in (m.bert.encoder.layer if kind_m == "hf" else m.layers):
                l.compile(dynamic=False)
            if kind_m == "fast":
                m.head = torch.compile(m.head, dynamic=False)
        else:
            st.model = torch.compile(m, dynamic=False, mode=a.compile_mode)
    t = time.time()
    first = None
    for i in range(max(a.warmup, nb)):
        l = st.step(batches[i % nb])
        if first is None:
            first = l.item()
    sync()
    warm = time.time() - t
    if not (0.85 < first / (math.log(V) + math.log(2)) < 1.15):
        raise RuntimeError(f"first loss {first} is not near ln V + ln 2")
    ev = [(event(), event()) for _ in range(a.iters)]
    losses = []
    t = time.time()
    for i, (e0, e1) in enumerate(ev):
        e0.record()
        losses.append(st.step(batches[i % nb]))
        e1.record()
    sync()
    wall = (time.time() - t) / a.iters
    ms = [e0.elapsed_time(e1) for e0, e1 in ev]
    med = statistics.median(ms) / 1e3
    last = torch.stack(losses).float()
    if not bool(torch.isfinite(last).all()):
        raise RuntimeError("a loss is not finite")
    real = sum(lens)
    r = dict(model=mname, seq=S, data=kind, variant=name, sequences=len(lens), real_tokens=real,
             slots=len(lens) * S if padded else real, mean_len=real / len(lens), ms=med * 1e3, ms_wall=wall * 1e3,
             ms_min=min(ms), ms_max=max(ms), seq_s=len(lens) / med, tok_s=real / med,
             tflops=flops(cfg, lens, S) / med / 1e12, peak_GB=torch.cuda.max_memory_allocated() / 1e9 if DEV == "cuda" else 0.0, warmup_s=warm,
             loss_first=first, loss_last=float(last[-1]))
    if abs(wall / med - 1) > 0.1:
        r["note"] = "host wall clock and device events differ by more than 10%: launch-bound or disturbed"
    if a.profile:
        from torch.profiler import profile, ProfilerActivity
        with profile(activities=[ProfilerActivity.CUDA]) as p:
            st.step(batches[0])
            torch.cuda.synchronize()
        print(p.key_averages().table(sort_by="cuda_time_total", row_limit=25, max_name_column_width=70))
    return r


# ---------------------------------------------------------------- ceilings

def time_ms(f, n=20, warm=3):
    for _ in range(warm):
        f()
    e = [(event(), event()) for _ in range(n)]
    for a, b in e:
        a.record()
        f()
        b.record()
    sync()
    return statistics.median(a.elapsed_time(b) for a, b in e)


def ceilings(a, res):
    n = 8192 if DEV == "cuda" else 256
    x, y = (torch.randn(n, n, device=DEV, dtype=torch.bfloat16) for _ in range(2))
    t = time_ms(lambda: x @ y)
    res["mm8192_tflops"] = 2 * n ** 3 / t / 1e9
    src = torch.empty((2 << 30) if DEV == "cuda" else 1 << 20, dtype=torch.uint8, device=DEV).random_()
    dst = torch.empty_like(src)
    t = time_ms(lambda: dst.copy_(src))
    res["copy_TB_s"] = 2 * src.numel() / t / 1e9
    say("ceilings: %d^3 bf16 %.0f TFLOP/s, copy %.2f TB/s" % (n, res["mm8192_tflops"], res["copy_TB_s"]))
    del src, dst, x, y
    T, tot = a.tokens, {}
    for mname in a.models.split(","):
        c = MODELS[mname]
        H, I = c["H"], c["I"]
        fl = ms = 0.0
        for name, n, k in (("qkv", 3 * H, H), ("proj", H, H), ("fc1", I, H), ("fc2", H, I)):
            X = torch.randn(T, k, device=DEV).bfloat16()
            W = torch.randn(n, k, device=DEV).bfloat16()
            G = torch.randn(T, n, device=DEV).bfloat16()
            row = []
            for ph, f in (("fwd", lambda: X @ W.t()), ("dgrad", lambda: G @ W), ("wgrad", lambda: G.t() @ X)):
                t = time_ms(f, 10)
                row.append(2.0 * T * n * k / t / 1e9)
                fl += 2.0 * T * n * k
                ms += t
            res[f"gemm_{mname}_{name}"] = row
            say(f"  {mname} {name} T={T} n={n} k={k}: fwd/dgrad/wgrad TFLOP/s", ["%.0f" % r for r in row])
            del X, W, G
        say(f"  {mname}: all twelve GEMMs of a layer {ms:.3f} ms, {fl / ms / 1e9:.0f} TFLOP/s")
        res[f"gemm_{mname}_all"] = fl / ms / 1e9
        if DEV == "cuda" and not pick_flash(c):
            continue
        for S in map(int, a.seqs.split(",")):
            for kind in a.data.split(","):
                lens = lengths_for(kind, S, T, False, a.lengths)
                cu = torch.tensor([0] + lens, device=DEV).cumsum(0).to(torch.int32)
                q, k, v, go = (torch.randn(T, c["A"], H // c["A"], device=DEV).bfloat16() for _ in range(4))
                for p in (0.0, ATTN_DROP):
                    for t in (q, k, v):
                        t.requires_grad_(True)
                    fw = time_ms(lambda: ATTN["flash"](q, k, v, cu, S, p), 10)

                    def fb():
                        q.grad = k.grad = v.grad = None
                        ATTN["flash"](q, k, v, cu, S, p).backward(go)
                    both = time_ms(fb, 10)
                    s2 = sum(l * l for l in lens)
                    res[f"attn_{mname}_{S}_{kind}_p{p}"] = dict(fwd_ms=fw, fwdbwd_ms=both, fwd_tflops=4.0 * s2 * H / fw / 1e9,
                                                               fwdbwd_tflops=14.0 * s2 * H / both / 1e9)
                    say(f"  {mname} attention S={S} {kind} p={p}: fwd {fw:.3f} ms {4.0 * s2 * H / fw / 1e9:.0f} TF/s, "
                        f"fwd+bwd {both:.3f} ms {14.0 * s2 * H / both / 1e9:.0f} TF/s (FA counting), one layer")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--selftest", action="store_true")
    ap.add_argument("--ceilings", action="store_true")
    ap.add_argument("--smoke", action="store_true", help="run every path once with a tiny model, on any device")
    ap.add_argument("--no-stop", action="store_true")
    ap.add_argument("--models", default="large,base")
    ap.add_argument("--seqs", default="512,128")
    ap.add_argument("--data", default="wiki", help="full,wiki")
    ap.add_argument("--lengths", help="file of sequence lengths and how often each occurs, used for 'wiki'")
    ap.add_argument("--variants", default="hf_autocast_compile,hf_bf16_compile,fast_varlen_compile")
    ap.add_argument("--tokens", type=int, default=65536)
    ap.add_argument("--warmup", type=int, default=6)
    ap.add_argument("--iters", type=int, default=20)
    ap.add_argument("--compile", default="full", choices=["full", "layer"])
    ap.add_argument("--compile-mode", default=None, help="e.g. max-autotune-no-cudagraphs, reduce-overhead")
    ap.add_argument("--profile", action="store_true")
    ap.add_argument("--budget", type=float, default=540, help="seconds; no variant starts after this")
    ap.add_argument("--out")
    a = ap.parse_args()
    res = dict(torch=torch.__version__, args=vars(a))
    if DEV == "cuda":
        pr = torch.cuda.get_device_properties(0)
        res["gpu"] = pr.name
        say("torch", torch.__version__, pr.name, f"{pr.total_memory / 1e9:.0f} GB, {pr.multi_processor_count} SMs")
    else:
        say("torch", torch.__version__, "on the CPU: checks only")
    ok = selftest()
    say("CHECKS", "PASSED" if ok else "FAILED")
    res["checks"] = ok
    if a.selftest or (DEV == "cpu" and not a.smoke):
        sys.exit(0 if ok else 1)
    if a.smoke:
        a.models, a.seqs, a.tokens, a.iters, a.ceilings = "tiny", "128", 1024, 2, True
        a.variants = ",".join(VARIANTS)
        ATTN["flash"] = ATTN["flash"] or attn_loop
    if not ok and not a.no_stop:
        sys.exit(1)
    torch.set_float32_matmul_precision("high")
    rows = []

    def save():
        res["rows"] = rows
        if a.out:
            json.dump(res, open(a.out, "w"), indent=1)

    if a.ceilings:
        ceilings(a, res)
        save()
    for mname in a.models.split(","):
        for S in map(int, a.seqs.split(",")):
            for kind in a.data.split(","):
                for name in a.variants.split(","):
                    tokens, r = a.tokens, None
                    while r is None:
                        if time.time() - T0 > a.budget:
                            r = dict(model=mname, seq=S, data=kind, variant=name, error="left out: out of time")
                            break
                        try:
                            r = run_variant(name, mname, S, kind, a, tokens)
                        except torch.cuda.OutOfMemoryError:
                            say(f"{name} {mname} {S}: out of memory at {tokens} tokens")
                            tokens //= 2
                            if tokens < 4096:
                                r = dict(model=mname, seq=S, data=kind, variant=name, error="out of memory")
                        except Exception as e:
                            traceback.print_exc()
                            r = dict(model=mname, seq=S, data=kind, variant=name, error=f"{type(e).__name__}: {str(e)[:300]}")
                        gc.collect()
                        if DEV == "cuda":
                            torch.cuda.empty_cache()
                    rows.append(r)
                    say({k: (round(v, 2) if isinstance(v, float) else v) for k, v in r.items()})
                    save()
    print(f"\n{'model':6s}{'seq':>4s} {'data':5s}{'variant':22s}{'seqs':>5s}{'mean':>6s}{'ms':>9s}{'seq/s':>8s}{'ktok/s':>8s}{'TF/s':>6s}{'GB':>6s}")
    for r in rows:
        if "error" in r:
            print(f"{r['model']:6s}{r['seq']:4d} {r['data']:5s}{r['variant']:22s} {r['error'][:80]}")
        else:
            print(f"{r['model']:6s}{r['seq']:4d} {r['data']:5s}{r['variant']:22s}{r['sequences']:5d}{r['mean_len']:6.0f}{r['ms']:9.2f}"
                  f"{r['seq_s']:8.0f}{r['tok_s'] / 1e3:8.0f}{r['tflops']:6.0f}{r['peak_GB']:6.1f} {r.get('note', '')}")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
