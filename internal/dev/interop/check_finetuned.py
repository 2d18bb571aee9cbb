"""Real transformers read what `train-bert finetune` leaves, and compute the same.

    python check_finetuned.py squad OUT FILE [MODEL]      of finetune squad --predict-file FILE
    python check_finetuned.py classify OUT TABLE [MODEL]  of finetune classify; TABLE is its test.tsv
    python check_finetuned.py make FOLDER VOCAB           writes FOLDER/squad and FOLDER/classify

OUT is the run's folder, MODEL the model it used: its newest checkpoint, or one of
those that transformers made. The model must load without a missing or an unexpected tensor, its tokenizer must cut the texts as ours does, and its numbers
must be those that the run wrote: the logits of the best answer of each question
(whose text fits one window), or the probabilities of each row.
"""

import csv
import glob
import json
import sys

import torch
from transformers import BertConfig, BertForQuestionAnswering, BertForSequenceClassification, BertTokenizer

TOLERANCE = 1e-4


def load(kind, folder):
    model, info = kind.from_pretrained(folder, output_loading_info=True)
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not info[what], f"{folder}: {what}: {info[what]}"
    with open(folder + "/config.json") as f:
        assert json.load(f)["architectures"] == [kind.__name__]
    return model.eval(), BertTokenizer.from_pretrained(folder)


def newest(out):
    return sorted(glob.glob(out + "/step-*"))[-1]


def make(folder, vocab):
    tokenizer = BertTokenizer(vocab)
    for kind, name in ((BertForQuestionAnswering, "squad"), (BertForSequenceClassification, "classify")):
        torch.manual_seed(1)
        config = BertConfig(vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                            max_position_embeddings=128, initializer_range=0.5)
        kind(config).save_pretrained(f"{folder}/{name}")
        tokenizer.save_pretrained(f"{folder}/{name}")


def questions(path):
    with open(path, encoding="utf-8") as f:
        for article in json.load(f)["data"]:
            for paragraph in article["paragraphs"]:
                for qa in paragraph["qas"]:
                    yield qa["id"], qa["question"], paragraph["context"]


@torch.no_grad()
def squad(out, path, model=None):
    model, tokenizer = load(BertForQuestionAnswering, model or newest(out))
    with open(out + "/nbest_predictions.json") as f:
        nbest = json.load(f)
    compared = 0
    for name, question, context in questions(path):
        x = tokenizer(question, context, return_tensors="pt")
        if x["input_ids"].shape[1] > 128:
            continue  # several windows
        y = model(**x)
        start, end = y.start_logits[0], y.end_logits[0]
        inside = x["token_type_ids"][0].bool()
        inside[-1] = False
        best = max((float(start[i] + end[j]) for i in torch.nonzero(inside)[:, 0] for j in range(int(i), min(int(i) + 30, len(inside))) if inside[j]))
        if "" in [c["text"] for c in nbest[name]]:
            best = max(best, float(start[0] + end[0]))
        ours = nbest[name][0]["start_logit"] + nbest[name][0]["end_logit"]
        assert abs(ours - best) < TOLERANCE * max(1, abs(best)), f"{name}: {ours} here, {best} in transformers"
        compared += 1
    assert compared > 0, "no question was compared"
    print(f"transformers: {compared} questions, the same logits")


@torch.no_grad()
def classify(out, path, model=None):
    model, tokenizer = load(BertForSequenceClassification, model or newest(out))
    with open(path, encoding="utf-8") as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    with open(out + "/test_results.tsv") as f:
        results = [[float(v) for v in line.split("\t")] for line in f]
    assert len(rows) == len(results), f"{len(rows)} rows, {len(results)} results"
    for row, result in zip(rows, results):
        pair = (row["#1 String"], row["#2 String"]) if "#1 String" in row else (row["sentence"],)
        x = tokenizer(*pair, return_tensors="pt", truncation=True, max_length=128)
        p = torch.softmax(model(**x).logits[0], 0)
        assert max(abs(float(a) - b) for a, b in zip(p, result)) < TOLERANCE, f"{row}: {result} here, {p} in transformers"
    print(f"transformers: {len(rows)} rows, the same probabilities")


if __name__ == "__main__":
    {"squad": squad, "classify": classify, "make": make}[sys.argv[1]](*sys.argv[2:])
