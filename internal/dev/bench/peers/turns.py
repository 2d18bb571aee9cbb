"""What torch_step.py, torch_modern.py and onnx_infer.py share: their flags, and how works are timed in turns.

In each round every work runs once for some seconds, one after the other, and ratios are taken within the
round; the median of the rounds is printed. With one thread, speeds are tokens a second of processor time (user and
system), which other programs at work disturb less than the clock. With more threads they are tokens a second by the
clock, because PyTorch's threads use the processor while they wait: measure on an idle machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

# What makes libraries use AVX2 on a processor with AVX-512.
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}

# glibc returns large blocks to the system when they are freed, and PyTorch's memory of a step would be
# page faults in each step. The first asks for large pages of memory, which we ask for too.
KEPT = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "17179869184", "MALLOC_TOP_PAD_": "67108864"}


def flags(*positional, **options):
    """Returns the values of the flags. Call it before torch is imported: libraries read the variables that it sets as they start."""
    parser = argparse.ArgumentParser()
    for name in ("train_bert", *positional):
        parser.add_argument(name)
    for name, default in options.items():
        parser.add_argument("--" + name, default=default)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--isa", choices=("avx2", "avx512"), default="", help="instruction set; default: the best here")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    args = parser.parse_args()
    wanted = {**KEPT, **(AVX2 if args.isa == "avx2" else {}), "OMP_NUM_THREADS": str(args.threads), "MKL_NUM_THREADS": str(args.threads)}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})
    return args


class Ours:
    """train-bert bench with more flags."""

    def __init__(self, args, *more):
        self.key = "tokens_per_cpu_second" if args.threads == 1 else "tokens_per_second"
        self.command = [args.train_bert, "bench", "--json", "--rounds", "1", "--seconds", str(args.seconds), "--threads", str(args.threads), *map(str, more)]
        if args.isa:
            self.command += ["--set", "isa=" + args.isa]

    def round(self, _):
        return json.loads(subprocess.run(self.command, check=True, capture_output=True, text=True).stdout)[self.key]


class Peer:
    """What has a method step, which returns the tokens of the step."""

    def round(self, args):
        now = time.process_time if args.threads == 1 else time.perf_counter
        start, clock, tokens = now(), time.perf_counter(), 0
        while tokens == 0 or time.perf_counter() - clock < args.seconds:
            tokens += self.step()
        return tokens / (now() - start)


class Speeds:
    """The speeds of all rounds: ours first, then each peer's."""

    def __init__(self, args, ours, *peers):
        for p in peers:
            for _ in range(2):
                p.step()  # the first touches memory and compiles
        self.rounds = [[w.round(args) for w in (ours, *peers)] for _ in range(args.rounds)]

    def median(self, work):
        return statistics.median(r[work] for r in self.rounds)

    def ratio(self):
        """Our speed over that of the fastest peer: median, least and greatest of the rounds."""
        ratio = sorted(r[0] / max(r[1:]) for r in self.rounds)
        return f"{statistics.median(ratio):.2f} ({ratio[0]:.2f} to {ratio[-1]:.2f})"
