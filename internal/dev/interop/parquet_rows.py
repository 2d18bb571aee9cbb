"""Writes Parquet files with pyarrow, of random rows under random settings, and
compares what `prepare-data extract --books` makes of each with the rows.

    python parquet_rows.py bin/prepare-data FOLDER [FILES]
"""

import glob
import json
import os
import random
import shlex
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

WORDS = ["river", "sea", "boat", "Fluß", "水", "море", "a", "of", "“quoted”", "x" * 300, "\n", "12,5"]


def rows(r):
    def row():
        kind = r.random()
        if kind < 0.05:
            return None
        if kind < 0.1:
            return r.choice(["", "  ", "the same again"])
        return " ".join(r.choice(WORDS) for _ in range(r.randrange(1, 40 if kind < 0.99 else 40_000)))

    return [row() for _ in range(r.choice([1, 30, 2000, 9000]))]


def options(r):
    o = {
        "compression": r.choice(["none", "snappy", "gzip", "zstd", "lz4"]),
        "data_page_version": r.choice(["1.0", "2.0"]),
        "data_page_size": r.choice([100, 5000, 1 << 20]),
        "row_group_size": r.choice([7, 500, 1 << 20]),
        "write_page_checksum": r.random() < 0.5,
        "use_dictionary": r.random() < 0.5,
        "dictionary_pagesize_limit": r.choice([50, 10_000, 1 << 20]),
    }
    if not o["use_dictionary"]:
        o["column_encoding"] = {"text": r.choice(["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])}
    return o


def documents(folder):
    for path in sorted(glob.glob(os.path.join(folder, "documents-*.jsonl.zst"))):
        out = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
        yield from (json.loads(line)["text"] for line in out.splitlines())


def main():
    command, folder, n = shlex.split(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 12
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for seed in range(n):
        r = random.Random(seed)
        values, o = rows(r), options(r)
        path = os.path.join(folder, f"{seed}.parquet")
        pq.write_table(pa.table({"n": list(range(len(values))), "text": pa.array(values, pa.string())}), path, **o)
        out = os.path.join(folder, f"out{seed}")
        want = [v.strip() for v in values if v and v.strip()]
        done = subprocess.run([*command, "extract", "--quiet", "--books", path, "--out", out], stdout=subprocess.DEVNULL)
        if done.returncode != (0 if want else 4):
            sys.exit(f"seed {seed}, {o}: exit code {done.returncode}")
        if want and list(documents(out)) != want:
            sys.exit(f"seed {seed}, {o}: the documents differ from the rows")
    print(f"{n} Parquet files of pyarrow {pa.__version__} read alike")


main()
