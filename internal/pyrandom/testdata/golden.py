"""Writes golden.json: what CPython 3's random.Random gives.

    python3 golden.py > golden.json
"""
import json
import random
import sys

SEEDS = [0, 1, 7, 42, 12345, 2**31, 2**32 - 1, 2**32, 2**32 + 12345, 2**40 + 3, 2**63 - 1, -1, -12345, -2**63]
BELOW = [1, 2, 3, 4, 5, 7, 8, 100, 128, 30522, 65536, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**53, 2**63, 2**64 - 1]
RANGES = [(0, 0), (0, 1), (2, 125), (1, 124), (-5, 5), (0, 30521), (-2**63, 2**63 - 1)]


def case(seed):
    new = lambda: random.Random(seed)
    r = new()
    out = {"seed": seed, "bits32": [r.getrandbits(32) for _ in range(8)]}
    for _ in range(2000):
        r.getrandbits(32)
    out["bits32_after_2008"] = [r.getrandbits(32) for _ in range(8)]
    r = new()
    out["random_hex"] = [r.random().hex() for _ in range(8)]
    r = new()
    out["bits"] = [str(r.getrandbits(k)) for k in range(65)]
    r = new()
    out["below"] = [[str(n), str(r._randbelow(n))] for n in BELOW for _ in range(5)]
    r = new()
    out["randint"] = [[str(a), str(b), str(r.randint(a, b))] for a, b in RANGES for _ in range(5)]
    r = new()
    out["shuffle"] = []
    for n in [0, 1, 2, 3, 10, 125]:
        x = list(range(n))
        r.shuffle(x)
        out["shuffle"].append(x)
    x = list(range(10000))
    r.shuffle(x)
    out["shuffle_10000_head"] = x[:16]
    out["next_after_all"] = r.getrandbits(32)
    return out


json.dump([case(s) for s in SEEDS], sys.stdout, indent=None, separators=(",", ":"))
print()
