"""Holds ModernBERT models of train-bert against transformers, in both directions. Runs with any
version of transformers that has the model, from 4.48 on. Several commands may follow each other,
with -- between them.

    check_modern.py texts VOCAB OUT       writes texts of up to 200 tokens
    check_modern.py filled TEXTS MODEL... fill-mask from the folder alone; MODEL.answers is what `train-bert predict MODEL --top-k V` says of TEXTS
    check_modern.py heads OUT...          OUT is a run of `train-bert finetune`, with its test.tsv or questions.json; OUT/model names the model if it trained none
    check_modern.py pattern TEXTS MODEL   version 5 computes the model, whose global layers are at no n-th place, older ones must refuse it
    check_modern.py make DIR TOKENIZER    saves models of transformers: DIR/VERSION-NAME
    check_modern.py equal COPIES MODEL... COPIES/NAME is what `train-bert import MODEL` wrote of DIR/NAME: the same tensors and numbers

Numbers agree if they are within 1e-5: transformers computes the angles of the positions in single
precision, train-bert in double.
"""

import csv
import glob
import json
import os
import random
import sys

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")

import torch
import transformers
from safetensors.torch import load_file
from transformers import AutoModel, AutoModelForMaskedLM, AutoModelForQuestionAnswering, AutoModelForSequenceClassification, AutoTokenizer, ModernBertConfig, pipeline

transformers.logging.disable_progress_bar()
MAJOR = int(transformers.__version__.split(".")[0])
TOLERANCE = 1e-5
LENGTH = 200  # of the longest text: longer than the windows


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def load(auto, folder):
    model, info = auto.from_pretrained(folder, output_loading_info=True)
    assert not any(info.values()), f"{folder}: transformers reports {info}"
    return model.eval()


def texts(vocab, out):
    words = [w for w in read(vocab).split() if w.isalpha() and w.isascii()]
    draw = random.Random(5)
    with open(out, "w", encoding="utf-8") as f:
        for length in (3, 30, LENGTH):
            text = draw.choices(words, k=length - 2)
            for at in range(0, length - 2, 37):
                text[at] = "[MASK]"
            print(" ".join(text), file=f)


@torch.no_grad()
def filled(texts, *folders):
    for folder in folders:
        fill_masks(texts, folder)


def fill_masks(texts, folder):
    model, tokenizer = load(AutoModelForMaskedLM, folder), AutoTokenizer.from_pretrained(folder)
    assert list(tokenizer("a")) == ["input_ids", "attention_mask"], f"{folder}: the tokenizer returns {list(tokenizer('a'))}"
    for name in ("pad", "cls", "sep"):
        assert getattr(model.config, f"{name}_token_id") == getattr(tokenizer, f"{name}_token_id"), f"{folder}: config.json has another {name}_token_id"
    fill, worst, compared, tokens = pipeline("fill-mask", folder), 0.0, 0, 0
    for text, line in zip(read(texts).splitlines(), read(folder + ".answers").splitlines(), strict=True):
        x = tokenizer(text, return_tensors="pt")
        tokens = max(tokens, x["input_ids"].shape[1])
        want = model(**x).logits[0].double().log_softmax(-1)
        masks = (x["input_ids"][0] == tokenizer.mask_token_id).nonzero()[:, 0].tolist()
        guesses = fill(text)
        if len(masks) == 1:
            guesses = [guesses]
        for at, mask, guess in zip(masks, json.loads(line)["masks"], guesses, strict=True):
            assert mask["position"] == at, f"{folder}: a mask at {mask['position']}, in transformers at {at}"
            assert [p["id"] for p in mask["predictions"]][:5] == [g["token"] for g in guess], f"{folder}: {mask['predictions'][:5]}, fill-mask {guess}"
            ours = torch.full_like(want[at], float("nan"))
            for p in mask["predictions"]:
                ours[p["id"]] = p["probability"]
            worst = max(worst, (ours.log() - want[at]).abs().max().item())
            compared += len(ours)
    assert tokens == LENGTH and worst <= TOLERANCE, f"{folder}: {tokens} tokens, log probabilities differ by {worst}"
    print(f"{transformers.__version__}: {folder}: {compared} log probabilities of up to {tokens} tokens within {worst:.1e}, fill-mask gives the same ids")


def newest(out):
    return sorted(glob.glob(out + "/step-*"))[-1]


def architecture(folder):
    return json.loads(read(folder + "/config.json"))["architectures"][0]


@torch.no_grad()
def heads(*outs):
    for out in outs:
        folder = read(out + "/model") if os.path.exists(out + "/model") else newest(out)
        worst = 0.0
        if architecture(folder).endswith("ForQuestionAnswering"):
            if transformers.__version__.startswith("4.48"):
                continue  # which lacks the class
            worst = questions(out, folder)
        else:
            worst = rows(out, folder)
        assert worst <= TOLERANCE, f"{out}: numbers differ by {worst}"
        print(f"{transformers.__version__}: {out}: {architecture(folder)} within {worst:.1e}")


def rows(out, folder):
    """The largest difference of log probabilities, or of scores, over the rows that the run predicted."""
    model, tokenizer = load(AutoModelForSequenceClassification, folder), AutoTokenizer.from_pretrained(folder)
    with open(out + "/test.tsv", encoding="utf-8") as f:
        table = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    worst = 0.0
    for row, line in zip(table, read(glob.glob(out + "/*_results.tsv")[0]).splitlines(), strict=True):
        pair = (row["#1 String"], row["#2 String"]) if "#1 String" in row else (row["sentence1"], row["sentence2"])
        logits = model(**tokenizer(*pair, return_tensors="pt")).logits[0].double()
        ours = torch.tensor([float(v) for v in line.split("\t")], dtype=torch.double)
        if len(logits) > 1:
            ours, logits = ours.log(), logits.log_softmax(-1)
        worst = max(worst, (ours - logits).abs().max().item())
    return worst


def questions(out, folder):
    """The largest difference of the logits of the best answers."""
    model, tokenizer = load(AutoModelForQuestionAnswering, folder), AutoTokenizer.from_pretrained(folder)
    nbest, worst, compared = json.loads(read(out + "/nbest_predictions.json")), 0.0, 0
    for article in json.loads(read(out + "/questions.json"))["data"]:
        for paragraph in article["paragraphs"]:
            for qa in paragraph["qas"]:
                x = tokenizer(qa["question"], paragraph["context"], return_tensors="pt")
                if x["input_ids"].shape[1] > 128:
                    continue  # several windows
                y = model(**x)
                for side, logits in (("start", y.start_logits[0]), ("end", y.end_logits[0])):
                    for answer in nbest[qa["id"]]:  # each logit is that of a token
                        worst = max(worst, (logits - answer[f"{side}_logit"]).abs().min().item())
                        compared += 1
                best = {side: nbest[qa["id"]][0][f"{side}_logit"] for side in ("start", "end")}
                inside = [i for i, s in enumerate(x.sequence_ids(0)) if s == 1]
                sums = [(y.start_logits[0, i] + y.end_logits[0, j]).item() for i in inside for j in inside if i <= j < i + 30]
                if "" in [a["text"] for a in nbest[qa["id"]]]:
                    sums.append((y.start_logits[0, 0] + y.end_logits[0, 0]).item())
                worst = max(worst, abs(max(sums) - best["start"] - best["end"]) / 2)  # of one logit
    assert compared > 0, f"{out}: no question was compared"
    return worst


def pattern(texts, folder):
    if MAJOR > 4:
        return filled(texts, folder)
    try:
        AutoModelForMaskedLM.from_pretrained(folder)
    except Exception as e:  # whatever it says, it must not load
        print(f"{transformers.__version__}: {folder} is refused: {type(e).__name__}")
        return
    sys.exit(f"{folder}: {transformers.__version__} loads a pattern of layers that it does not know")


# name → class, changed settings of version 4, those of version 5
SAVED = {
    "bare": ("ModernBertModel", {}, {}),
    "masked": ("ModernBertForMaskedLM", {"global_rope_theta": 80000.0, "local_rope_theta": 5000.0},
               {"rope_parameters": {kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in (("full_attention", 80000.0), ("sliding_attention", 5000.0))}}),
    "odd": ("ModernBertForMaskedLM", {"global_attn_every_n_layers": 2, "local_attention": 21},
            {"layer_types": ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention"], "local_attention": 21}),
    "classes": ("ModernBertForSequenceClassification", {"num_labels": 2, "classifier_pooling": "cls"}, {"num_labels": 2, "classifier_pooling": "cls"}),
    "mean": ("ModernBertForSequenceClassification", {"num_labels": 2, "classifier_pooling": "mean"}, {"num_labels": 2, "classifier_pooling": "mean"}),
    "score": ("ModernBertForSequenceClassification", {"num_labels": 1}, {"num_labels": 1}),
    "questions": ("ModernBertForQuestionAnswering", {}, {}),
}


def make(folder, tokenizer):
    tokens, version = AutoTokenizer.from_pretrained(tokenizer), ".".join(transformers.__version__.split(".")[:2])
    for name, (kind, four, five) in SAVED.items():
        if not hasattr(transformers, kind):
            continue
        torch.manual_seed(len(name))
        config = ModernBertConfig(vocab_size=len(tokens), hidden_size=64, num_hidden_layers=4, num_attention_heads=2, intermediate_size=80, local_attention=48,
                                  max_position_embeddings=512, pad_token_id=tokens.pad_token_id, cls_token_id=tokens.cls_token_id, sep_token_id=tokens.sep_token_id,
                                  bos_token_id=tokens.cls_token_id, eos_token_id=tokens.sep_token_id)
        for key, value in (five if MAJOR > 4 else four).items():
            setattr(config, key, value)
        model = getattr(transformers, kind)(config)
        with torch.no_grad():  # larger weights, and norms and biases that are no longer 1 and 0, so that a mix-up shows
            for p in model.parameters():
                p.mul_(4).add_(0.1 * torch.randn_like(p)) if p.dim() > 1 else p.add_(0.1 * torch.randn_like(p))
        out = f"{folder}/{version}-{name}"
        torn = {"safe_serialization": False} if MAJOR < 5 and name == "masked" else {}  # torch.save repeats the tied decoder
        model.save_pretrained(out, **torn)
        tokens.save_pretrained(out)


@torch.no_grad()
def equal(copies, *folders):
    for folder in folders:
        same(folder, f"{copies}/{os.path.basename(folder)}")


def same(folder, copy):
    if os.path.exists(folder + "/model.safetensors"):
        theirs = load_file(folder + "/model.safetensors")
    else:
        theirs = torch.load(folder + "/pytorch_model.bin", weights_only=True)
        assert "decoder.weight" in theirs, f"{folder}: torch.save no longer repeats the decoder: this check no longer shows what it is for"
        del theirs["decoder.weight"]
    theirs = {("model." + name if name.startswith(("embeddings.", "layers.", "final_norm.")) else name): t for name, t in theirs.items()}
    ours = load_file(copy + "/model.safetensors")
    assert theirs.keys() == ours.keys(), f"{copy}: other tensors: {theirs.keys() ^ ours.keys()}"
    for name, t in ours.items():
        assert torch.equal(t, theirs[name]), f"{copy}: {name} has changed"
    assert architecture(copy) == architecture(folder), f"{copy}: {architecture(copy)}"
    x = {"input_ids": torch.randint(len(read(copy + "/vocab.txt").split()), (1, LENGTH), generator=torch.Generator().manual_seed(1))}
    states = [load_encoder(f)(**x).last_hidden_state for f in (folder, copy)]
    assert torch.equal(*states), f"{copy}: config.json has changed what the model computes"
    print(f"{transformers.__version__}: {copy}: {len(ours)} tensors and the encoder's output equal")


def load_encoder(folder):
    return AutoModel.from_pretrained(folder).eval()


def main():
    commands = {"texts": texts, "filled": filled, "heads": heads, "pattern": pattern, "make": make, "equal": equal}
    args = [*sys.argv[1:], "--"]
    while args:
        end = args.index("--")
        commands[args[0]](*args[1:end])
        args = args[end + 1:]


if __name__ == "__main__":
    main()
