"""Holds train-bert against transformers on folders as they are in use: every form of
weights and every way of casing, saved by version 4 and by version 5, and by both again
from a folder of ours.

    python check_folders.py make DIR            version 4, with torch: writes DIR/4/NAME
    python check_folders.py import DIR PROGRAM  imports each with train-bert: DIR/ours/NAME
    python check_folders.py again DIR           either version: loads and saves DIR/4/NAME and DIR/ours/NAME
    python check_folders.py compare DIR PROGRAM version 4: what train-bert predicts with each of them

Version 5 runs without torch: it saves configuration and tokenizer, and the weights are
copied. In version 4 the weights are saved again as well.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys

os.environ["TRANSFORMERS_VERBOSITY"] = "error"  # before the import, which says that there is no torch

import transformers
from transformers import AutoConfig, AutoTokenizer

transformers.logging.disable_progress_bar()
MAJOR = transformers.__version__.split(".")[0]

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SMALL = list("abcdefghijklmnopqrstuvwxyzß0123456789.,'") + ["βσ", "βς", "ℝ", "中", "文"]
CAPITALS = list("ABCDEFGHIJKLMNOPQRSTUVWXYZÉÀÜİ") + list("éàüçñ")
UNCASED = SPECIAL + SMALL + ["##" + c for c in SMALL]
CASED = SPECIAL + SMALL + CAPITALS + ["##" + c for c in SMALL + CAPITALS]
TEXTS = [
    "[MASK] Paris Été", "déjà VU [MASK].", "Müller's [MASK] Straße", "ΒΣ βΣ [MASK]", "中文a [MASK] b中",
    "İstanbul [MASK] ℝ", "E\u0301te\u0301 [MASK]", "[MASK] [MASK] x" + "y" * 99 + "z", "\u00c5ngstr\u00f6m [MASK] \u212b",
]

# name → vocabulary, what the tokenizer is told, form of the weights
FOLDERS = {
    "uncased": (UNCASED, {"do_lower_case": True}, "safetensors"),
    "cased": (CASED, {"do_lower_case": False}, "safetensors"),
    "accents": (CASED, {"do_lower_case": True, "strip_accents": False}, "safetensors"),
    "capitals": (CASED, {"do_lower_case": False, "strip_accents": True}, "bin"),
    "ideographs": (UNCASED, {"do_lower_case": True, "tokenize_chinese_chars": False}, "bin"),
    "sharded": (UNCASED, {"do_lower_case": True}, "sharded safetensors"),
    "shardedbin": (CASED, {"do_lower_case": False}, "sharded bin"),
    "half": (UNCASED, {"do_lower_case": True}, "half bin"),
    "bfloat16": (CASED, {"do_lower_case": False}, "bfloat16 safetensors"),
    "bare": (UNCASED, {"do_lower_case": True}, "bare bin"),
}


def ids_of(folder):
    """The ids of TEXTS by the tokenizer that transformers finds in a folder."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return [tokenizer(text)["input_ids"] for text in TEXTS]


def make(args):
    import torch
    from transformers import BertConfig, BertForPreTraining, BertModel, BertTokenizerFast

    torch.manual_seed(3)
    for name, (vocab, casing, form) in FOLDERS.items():
        folder = os.path.join(args.dir, "4", name)
        os.makedirs(folder)
        file = os.path.join(args.dir, "vocab.txt")
        with open(file, "w", encoding="utf-8") as f:
            f.write("\n".join(vocab) + "\n")
        config = BertConfig(vocab_size=len(vocab), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48,
                            max_position_embeddings=160, initializer_range=0.5)
        model = (BertModel if "bare" in form else BertForPreTraining)(config)
        if "half" in form:
            model.half()
        if "bfloat16" in form:
            model.bfloat16()
        model.save_pretrained(folder, safe_serialization="safetensors" in form, max_shard_size="10KB" if "sharded" in form else "1GB")
        BertTokenizerFast(file, **casing).save_pretrained(folder)


def folders(args, group):
    root = os.path.join(args.dir, group)
    for name in sorted(os.listdir(root)):
        yield name, os.path.join(root, name)


def import_all(args):
    for name, folder in folders(args, "4"):
        subprocess.run([args.program, "import", folder, "--out", os.path.join(args.dir, "ours", name)], check=True, stdout=subprocess.DEVNULL)


def again(args):
    for group in ("4", "ours"):
        for name, folder in folders(args, group):
            out = os.path.join(args.dir, f"{group}-by-{MAJOR}", name)
            os.makedirs(out)
            tokenizer = AutoTokenizer.from_pretrained(folder)
            tokenizer.save_pretrained(out)
            if MAJOR == "4":
                from transformers import BertForPreTraining, BertModel

                cls = BertModel if name == "bare" else BertForPreTraining
                model, info = cls.from_pretrained(folder, output_loading_info=True)
                if any(info.values()):
                    sys.exit(f"{folder}: transformers reports {info}")
                model.save_pretrained(out)
            else:
                AutoConfig.from_pretrained(folder).save_pretrained(out)
                for file in os.listdir(folder):
                    if file.endswith((".safetensors", ".bin", ".index.json")):
                        shutil.copy(os.path.join(folder, file), out)
                if os.path.exists(os.path.join(out, "vocab.txt")):
                    sys.exit(f"{out}: version 5 writes a vocab.txt again: this check no longer shows what it is for")
            want, got = ids_of(os.path.join(args.dir, "4", name)), ids_of(folder)
            if got != want:
                sys.exit(f"{folder}: version {transformers.__version__} reads the ids {got}, in the original {want}")


def predictions(model, ids, mask):
    import torch

    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0]
    return [logits[i].softmax(-1).topk(3) for i, id in enumerate(ids) if id == mask]


def compare(args):
    from transformers import BertForMaskedLM

    groups = ["4", "ours"] + [f"{group}-by-{major}" for group in ("4", "ours") for major in ("4", "5")]
    compared = 0
    for group in groups:
        for name, folder in folders(args, group):
            if name == "bare":  # it has no head; that it was loaded is what import and again show
                subprocess.run([args.program, "import", folder, "--out", folder + "-imported"], check=True, stdout=subprocess.DEVNULL)
                continue
            original = os.path.join(args.dir, "4", name)
            model, ids = BertForMaskedLM.from_pretrained(original).float().eval(), ids_of(original)
            out = subprocess.run([args.program, "predict", folder, "--top-k", "3"], input="\n".join(TEXTS) + "\n", check=True,
                                 capture_output=True, text=True).stdout.splitlines()
            for text, row, line in zip(TEXTS, ids, out, strict=True):
                ours = json.loads(line)
                want = predictions(model, row, SPECIAL.index("[MASK]"))
                for theirs, mask in zip(want, ours["masks"], strict=True):
                    for value, id, p in zip(theirs.values.tolist(), theirs.indices.tolist(), mask["predictions"], strict=True):
                        if p["id"] != id or abs(p["probability"] - value) > 2e-5 * max(1, value):
                            sys.exit(f"{folder}: {text!r}: {ours}, transformers has {want}")
                        compared += 1
    print(f"{len(FOLDERS)} folders in {len(groups)} versions: {compared} predictions equal those of transformers")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    for name, run in {"make": make, "import": import_all, "again": again, "compare": compare}.items():
        p = commands.add_parser(name)
        p.add_argument("dir")
        if name in ("import", "compare"):
            p.add_argument("program")
        p.set_defaults(run=run)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
