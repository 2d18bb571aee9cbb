"""Writes the folders of oracle/: what PyTorch computes in float64 for tiny models on records of the demo's text.

    pip install torch transformers safetensors
    python make_oracle.py

Optimizers are written out from their definitions: google-research/bert's AdamW, NVIDIA's LAMB. Weights are stored as float32 and
all is computed in float64 from those, so a float64 implementation agrees to 1e-12 in losses and 1e-7 in tensors.
"""
import copy, gzip, json, math, os, struct

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

torch.set_num_threads(1)

DEMO = "../../../records/pretrain/testdata/demo/"
PRETRAIN = dict(seed=21, src=DEMO + "seq64-dupe2.tfrecord.gz", S=48, P=8, B=4, act="gelu_new",
                cfg=dict(vocab_size=160, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=56))
OPTIM = dict(seed=22, src=DEMO + "seq64-dupe2.tfrecord.gz", S=32, P=6, B=3, steps=10, act="gelu_new",
             cfg=dict(vocab_size=128, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40))

# ---------------------------------------------------------------- records


def records(path):
    b, i = (gzip.open if path.endswith("gz") else open)(path, "rb").read(), 0
    while i < len(b):
        n = struct.unpack("<Q", b[i:i + 8])[0]
        yield b[i + 12:i + 12 + n]
        i += 16 + n


def varint(b, i):
    r = s = 0
    while True:
        c = b[i]
        i, r, s = i + 1, r | (c & 127) << s, s + 7
        if c < 128:
            return r, i


def fields(b):
    i = 0
    while i < len(b):
        t, i = varint(b, i)
        if t & 7 == 2:
            n, i = varint(b, i)
            v, i = b[i:i + n], i + n
        else:  # tf.train.Example has nothing else but (possibly unpacked) varints and floats
            v, i = varint(b, i) if t & 7 == 0 else (b[i:i + 4], i + 4)
        yield t >> 3, v


def example(b):
    out = {}
    for _, fs in fields(b):
        for _, entry in fields(fs):
            kv = dict(fields(entry))
            vals = out[kv[1].decode()] = []
            for kind, lst in fields(kv[2]):
                for _, v in fields(lst):
                    if isinstance(v, int):
                        vals.append(v)
                    elif kind == 2:
                        vals += struct.unpack("<%df" % (len(v) // 4), v)
                    else:
                        j = 0
                        while j < len(v):
                            x, j = varint(v, j)
                            vals.append(x)
    return out


def fold(i, V):
    """Vocabulary ids into a small vocabulary; the special tokens 0 to 4 stay."""
    return i if i < 5 else 5 + (i - 5) % (V - 5)


def batches(c):
    """Endless batches of real records with at most S tokens, as they stand; only padding columns are cut."""
    S, P, V, rows = c["S"], c["P"], c["cfg"]["vocab_size"], []
    for r in records(c["src"]):
        e = example(r)
        if sum(e["input_mask"]) <= S and sum(e["masked_lm_weights"]) <= P:
            rows.append(e)
    rows.sort(key=lambda e: (sum(e["input_ids"]) * 2654435761) % 2**32)  # a fixed shuffle
    k = 0
    while True:
        es = [rows[(k + j) % len(rows)] for j in range(c["B"])]
        k += c["B"]
        I = lambda name, n, f=lambda x: x: torch.tensor([[f(x) for x in e[name][:n]] for e in es], dtype=torch.int32)
        yield dict(input_ids=I("input_ids", S, lambda x: fold(x, V)), input_mask=I("input_mask", S), segment_ids=I("segment_ids", S),
                   masked_lm_positions=I("masked_lm_positions", P), masked_lm_ids=I("masked_lm_ids", P, lambda x: fold(x, V)),
                   masked_lm_weights=torch.tensor([e["masked_lm_weights"][:P] for e in es], dtype=torch.float32),
                   next_sentence_labels=I("next_sentence_labels", 1)[:, 0])


def unpad(b):
    """The same batch without padding: what an unpadded trainer feeds to its kernels."""
    lens = b["input_mask"].sum(1)
    cu = torch.cat([torch.zeros(1, dtype=torch.int64), lens.cumsum(0)])
    keep = b["input_mask"].bool()
    live = b["masked_lm_weights"] > 0
    return dict(cu_seqlens=cu.int(), ids=b["input_ids"][keep], segments=b["segment_ids"][keep],
                positions=torch.cat([torch.arange(n) for n in lens]).int(),
                masked_index=(b["masked_lm_positions"] + cu[:-1, None]).int()[live], masked_ids=b["masked_lm_ids"][live])


# ---------------------------------------------------------------- the model and its loss

def config(c, **kw):
    from transformers import BertConfig
    return BertConfig(**c["cfg"], hidden_act=kw.pop("act", c["act"]), max_position_embeddings=c["S"] + 16, type_vocab_size=2,
                      hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, layer_norm_eps=1e-12, **kw)


def init(model, seed):
    """Not zero anywhere, so that no bias and no LayerNorm parameter can be forgotten unseen."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for n, p in model.named_parameters():
            r = torch.randn(p.shape, generator=g)
            std = 0.02 if n.endswith("bias") else 0.25 if ".query." in n or ".key." in n else 0.06  # sharp attention, so that its errors show
            p.copy_((1 + 0.1 * r) if n.endswith("LayerNorm.weight") else 0.1 * r if "LayerNorm" in n else std * r)
    return model


def run_bert(model, b):
    return model.bert(input_ids=b["input_ids"].long(), attention_mask=b["input_mask"].long(), token_type_ids=b["segment_ids"].long())


def pretrain(model, b):
    """google-research/bert run_pretraining.py: gather, transform, tied decoder; sum(w*loss)/(sum(w)+1e-5) + mean NSP loss."""
    o = run_bert(model, b)
    seq, pooled = o.last_hidden_state, o.pooler_output
    h = torch.gather(seq, 1, b["masked_lm_positions"].long()[..., None].expand(-1, -1, seq.shape[-1]))
    logits, nsp = model.cls.predictions(h), model.cls.seq_relationship(pooled)
    w = b["masked_lm_weights"].to(seq.dtype)
    per = F.cross_entropy(logits.flatten(0, 1), b["masked_lm_ids"].long().flatten(), reduction="none").view_as(w)
    mlm = (w * per).sum() / (w.sum() + 1e-5)
    nspl = F.cross_entropy(nsp, b["next_sentence_labels"].long())
    hit = ((logits.argmax(-1) == b["masked_lm_ids"]) * w).sum() / w.sum()
    return dict(loss=mlm + nspl, mlm_loss=mlm, nsp_loss=nspl, mlm_sum=(w * per).sum(), mlm_weight=w.sum(), mlm_accuracy=hit,
                nsp_accuracy=(nsp.argmax(-1) == b["next_sentence_labels"]).double().mean()), \
        dict(sequence_output=seq, pooled_output=pooled, mlm_logits=logits, nsp_logits=nsp, mlm_per_position_loss=per)


def pretrain_one_by_one(model, b):
    """Each sequence alone, at its own length, no mask: what padding-free training must equal."""
    mlm = n = nsp = 0.0
    for i in range(len(b["input_ids"])):
        l, k = int(b["input_mask"][i].sum()), int((b["masked_lm_weights"][i] > 0).sum())
        one = {k2: v[i:i + 1] for k2, v in b.items()}
        one |= {k2: one[k2][:, :l] for k2 in ("input_ids", "input_mask", "segment_ids")}
        one |= {k2: one[k2][:, :k] for k2 in ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights")}
        s, _ = pretrain(model, one)
        mlm, n, nsp = mlm + s["mlm_sum"], n + s["mlm_weight"], nsp + s["nsp_loss"]
    return mlm / (n + 1e-5) + nsp / len(b["input_ids"])


def grads(model, loss):
    model.zero_grad()
    loss.backward()
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


# ---------------------------------------------------------------- optimizers, from their definitions

def decays(name):
    return not ("LayerNorm" in name or name.endswith("bias"))


def norm(ts):
    return math.sqrt(sum(float((t.detach().double() ** 2).sum()) for t in ts))


def lr_google(step, o):
    """step counts from 0: the first step of a warmed-up run has rate 0. After warm-up the line from init_lr at 0 to 0 at the end."""
    if step < o["warmup_steps"]:
        return o["lr"] * step / o["warmup_steps"]
    return o["lr"] * (1 - min(step, o["train_steps"]) / o["train_steps"])


def lr_nvidia(step, o):
    """PolyWarmUp: step counts from 1; rate at the last step is 0. warmup is a share of train_steps."""
    t = (step + 1) / o["train_steps"]
    return o["lr"] * t / o["warmup"] if t < o["warmup"] else o["lr"] * (1 - t) ** o["degree"]


ADAMW = dict(name="adamw", lr=2e-3, warmup_steps=4, train_steps=10, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.01, clip_norm=1.0)
LAMB = dict(name="lamb", lr=1e-2, warmup=0.2843, train_steps=10, degree=0.5, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.01, clip_norm=1.0)


@torch.no_grad()
def adamw(p, g, s, step, o):
    """google-research/bert optimization.py: clip by global norm, no bias correction, eps outside the root, decay not in the moments."""
    gn, lr = norm(g.values()), lr_google(step, o)
    k = min(1.0, o["clip_norm"] / gn)
    for n, w in p.items():
        m, v = s.setdefault(n, (torch.zeros_like(w), torch.zeros_like(w)))
        q = g[n] * k
        m.mul_(o["beta1"]).add_(q, alpha=1 - o["beta1"])
        v.mul_(o["beta2"]).add_(q * q, alpha=1 - o["beta2"])
        u = m / (v.sqrt() + o["eps"])
        if decays(n):
            u = u + o["weight_decay"] * w
        w.sub_(u, alpha=lr)
    return gn, lr, {}


@torch.no_grad()
def lamb(p, g, s, step, o):
    """NVIDIA (apex FusedLAMB, DeepLearningExamples): clip, Adam with bias correction, update/weight norms only for decayed tensors."""
    gn, lr, t, ratios = norm(g.values()), lr_nvidia(step, o), step + 1, {}
    k = max(1.0, gn / o["clip_norm"])
    c1, c2 = 1 - o["beta1"] ** t, 1 - o["beta2"] ** t
    for n, w in p.items():
        m, v = s.setdefault(n, (torch.zeros_like(w), torch.zeros_like(w)))
        q = g[n] / k
        m.mul_(o["beta1"]).add_(q, alpha=1 - o["beta1"])
        v.mul_(o["beta2"]).add_(q * q, alpha=1 - o["beta2"])
        u, r = (m / c1) / ((v / c2).sqrt() + o["eps"]), 1.0
        if decays(n):
            u = u + o["weight_decay"] * w
            pn, un = norm([w]), norm([u])
            r = ratios[n] = pn / un if pn > 0 and un > 0 else 1.0
        w.sub_(u, alpha=lr * r)
    return gn, lr, ratios


def train(model, bs, update, o):
    p, s, log = dict(model.named_parameters()), {}, []
    for step, b in enumerate(bs):
        sc, _ = pretrain(model, b)
        gn, lr, ratios = update(p, grads(model, sc["loss"]), s, step, o)
        log.append(dict(step=step, lr=lr, loss=sc["loss"].item(), mlm_loss=sc["mlm_loss"].item(), nsp_loss=sc["nsp_loss"].item(), grad_norm=gn,
                        weight_norm=norm(p.values()), m_norm=norm(m for m, _ in s.values()), v_norm=norm(v for _, v in s.values())))
        if ratios:
            log[-1]["trust_ratio"] = ratios
    return log


# ---------------------------------------------------------------- writing

def put(path, d):
    save_file({k: v.detach().to(torch.float32 if v.is_floating_point() else v.dtype).contiguous() for k, v in d.items()}, path)


def put_json(path, d):
    json.dump(d, open(path, "w"), indent=1)
    open(path, "a").write("\n")


def num(d):
    return {k: (v.item() if torch.is_tensor(v) else v) for k, v in d.items()}


def make_pretrain(c, out):
    from transformers import BertForPreTraining
    os.makedirs(out, exist_ok=True)
    m = init(BertForPreTraining(config(c)).eval(), c["seed"])
    m.save_pretrained(out)
    os.path.exists(p := out + "/generation_config.json") and os.remove(p)
    b = next(batches(c))
    put(out + "/batch.safetensors", b)
    put(out + "/unpadded.safetensors", unpad(b))
    d = copy.deepcopy(m).double()
    sc, ts = pretrain(d, b)
    g = grads(d, sc["loss"])
    put(out + "/outputs.safetensors", ts)
    put(out + "/grads.safetensors", g)
    one = pretrain_one_by_one(d, b)
    put_json(out + "/losses.json", dict(num(sc), grad_norm=norm(g.values()), padding_free_loss=one.item()))


def make_optim(c, out):
    from transformers import BertForPreTraining
    os.makedirs(out, exist_ok=True)
    m = init(BertForPreTraining(config(c)).eval(), c["seed"])
    m.save_pretrained(out)
    os.path.exists(p := out + "/generation_config.json") and os.remove(p)
    it = batches(c)
    bs = [next(it) for _ in range(c["steps"])]
    put(out + "/batches.safetensors", {k: torch.cat([b[k] for b in bs]) for k in bs[0]})
    for upd, o in ((adamw, ADAMW), (lamb, LAMB)):
        d = copy.deepcopy(m).double()
        log = train(d, bs, upd, o)
        put(out + f"/{o['name']}-final.safetensors", dict(d.named_parameters()))
        put_json(out + f"/{o['name']}.json", dict(options=o, batch_size=c["B"], decayed=[n for n, _ in m.named_parameters() if decays(n)], steps=log))



make_pretrain(PRETRAIN, "oracle/pretrain")
make_optim(OPTIM, "oracle/optim")
