"""Speed of BERT's encoder on the processor without training: train-bert and ONNX Runtime, in one run.

    python onnx_infer.py CPU_TEST [--models tiny,mini,small,base] [--batches 1,8] [--threads 1] [--rounds 5] [--seconds 2]

CPU_TEST is the test program of trainer/cpu (go test -c), which has the benchmark Forward. turns.py says how speeds are
measured. Both compute the hidden rows of all tokens and the pooled output of full sequences of 128 tokens, in single precision.
The model of ONNX Runtime is transformers' BertModel, written by PyTorch, with the operators joined by ONNX Runtime's own
optimizer for BERT. ONNX Runtime has no switch for instruction sets: it uses the best that the processor has, and so do we.
"""

import os
import subprocess
import tempfile

import turns

args = turns.flags(models="tiny,mini,small,base", batches="1,8")

import numpy  # noqa: E402  (reads the variables)
import onnxruntime  # noqa: E402
import torch  # noqa: E402
from onnxruntime.transformers import optimizer  # noqa: E402
from transformers import BertConfig, BertModel  # noqa: E402

LENGTH = 128
SIZES = {"tiny": (2, 128), "mini": (4, 256), "small": (4, 512), "base": (12, 768)}


class Ours:
    """The benchmark Forward of trainer/cpu."""

    def __init__(self, size, batch):
        self.command = [args.train_bert, "-test.run", "^$", "-test.bench", f"^BenchmarkForward$/^{size}$/^{batch}x{LENGTH}$/^{args.threads}_threads$",
                        "-test.benchtime", f"{args.seconds}s"]

    def round(self, _):
        words = subprocess.run(self.command, check=True, capture_output=True, text=True).stdout.split()
        return float(words[words.index("tokens/cpu-s" if args.threads == 1 else "tokens/s") - 1])


class Runtime(turns.Peer):
    def __init__(self, size, batch, folder):
        layers, hidden = SIZES[size]
        torch.manual_seed(1)
        model = BertModel(BertConfig(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=hidden // 64, intermediate_size=4 * hidden)).eval()
        ids = torch.randint(30522, (batch, LENGTH))
        inputs = (ids, torch.ones_like(ids), torch.zeros_like(ids))
        names = ["input_ids", "attention_mask", "token_type_ids"]
        path = os.path.join(folder, "model.onnx")
        torch.onnx.export(model, inputs, path, input_names=names, output_names=["hidden", "pooled"], opset_version=14,
                          dynamic_axes={n: {0: "batch", 1: "length"} for n in names})
        joined = optimizer.optimize_model(path, "bert", num_heads=hidden // 64, hidden_size=hidden)
        joined.save_model_to_file(path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = args.threads
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.inputs, self.tokens = {n: x.numpy() for n, x in zip(names, inputs)}, batch * LENGTH
        with torch.no_grad():
            want = model(*inputs).last_hidden_state.numpy()
        got = self.session.run(["hidden"], self.inputs)[0]
        if not numpy.abs(got - want).max() < 1e-3:
            raise SystemExit("ONNX Runtime computes something else than PyTorch")

    def step(self):
        self.session.run(["hidden", "pooled"], self.inputs)
        return self.tokens


def main():
    print(f"onnxruntime {onnxruntime.__version__}, {args.threads} thread(s), {args.rounds} rounds\n")
    print("| model | sequences | train-bert, tokens/s | ONNX Runtime | ratio (least to greatest) |")
    print("|---|---:|---:|---:|---:|")
    for size in args.models.split(","):
        for batch in map(int, args.batches.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                s = turns.Speeds(args, Ours(size, batch), Runtime(size, batch, folder))
            print(f"| {size} | {batch} | {s.median(0):,.0f} | {s.median(1):,.0f} | {s.ratio()} |", flush=True)


main()
