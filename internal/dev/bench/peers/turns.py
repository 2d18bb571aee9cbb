"""What torch_step.py and torch_modern.py share: their flags, and how works are timed in turns.

In each round every work runs once for some seconds, one after the other, and ratios are taken within the
round; the median of the rounds is printed. Speeds are tokens a second of processor time (user and system,
all threads), which other programs at work disturb less than the clock.
"""

import argparse
import json
import os
import statistics
import subprocess
import time


def flags(*positional, **options):
    """Returns the values of the flags. Import torch behind it: it reads the numbers of threads that this sets."""
    parser = argparse.ArgumentParser()
    for name in ("train_bert", *positional):
        parser.add_argument(name)
    for name, default in options.items():
        parser.add_argument("--" + name, default=default)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(args.threads)
    return args


class Ours:
    """train-bert bench with more flags."""

    def __init__(self, args, *more):
        self.command = [args.train_bert, "bench", "--json", "--rounds", "1", "--seconds", str(args.seconds), "--threads", str(args.threads), *map(str, more)]

    def round(self, _):
        return json.loads(subprocess.run(self.command, check=True, capture_output=True, text=True).stdout)["tokens_per_cpu_second"]


class Peer:
    """What has a method step, which returns the tokens that it trained on."""

    def round(self, seconds):
        start, clock, tokens = time.process_time(), time.perf_counter(), 0
        while tokens == 0 or time.perf_counter() - clock < seconds:
            tokens += self.step()
        return tokens / (time.process_time() - start)


def measure(args, ours, *peers):
    """Returns our median speed and, for each peer, its median speed and our ratio: median, least and greatest."""
    for p in peers:
        p.step()  # the first touches memory
    rounds = [[w.round(args.seconds) for w in (ours, *peers)] for _ in range(args.rounds)]
    out = [statistics.median(r[0] for r in rounds)]
    for i in range(1, len(peers) + 1):
        ratio = sorted(r[0] / r[i] for r in rounds)
        out += [statistics.median(r[i] for r in rounds), f"{statistics.median(ratio):.2f} ({ratio[0]:.2f} to {ratio[-1]:.2f})"]
    return out
