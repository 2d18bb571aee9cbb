"""Writes the fixtures of this folder with pyarrow, an independent implementation:
the same rows in every codec, encoding and page version that text columns have.

    python make.py     (pyarrow 26.0.1)
"""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = ["The river runs to the sea.", "", "Ein Boot fährt über den Fluß.", "水は海へ流れる。", "The river runs to the lake."]
ROWS += [f"Boat number {i} goes with it, and {i * i} others." for i in range(24)]
ROWS += ["The river runs to the sea."] * 30 + ["x" * 300, "end"]


def table(rows, nullable=True):
    schema = pa.schema([
        pa.field("n", pa.int64()),
        pa.field("meta", pa.struct([pa.field("text", pa.string()), pa.field("tags", pa.list_(pa.string()))])),
        pa.field("text", pa.string(), nullable=nullable),
    ])
    n = list(range(len(rows)))
    meta = [{"text": f"not this {i}", "tags": ["a"] * (i % 3)} for i in n]
    return pa.Table.from_arrays([pa.array(n), pa.array(meta, schema.field("meta").type), pa.array(rows, pa.string())], schema=schema)


def write(name, rows, nullable=True, **options):
    options = {"compression": "none", "use_dictionary": False, "row_group_size": 40, **options}
    if "encoding" in options:
        options["column_encoding"] = {"text": options.pop("encoding")}
    pq.write_table(table(rows, nullable), os.path.join(HERE, name + ".parquet"), **options)


with open(os.path.join(HERE, "rows.json"), "w") as f:
    json.dump(ROWS, f, ensure_ascii=False, indent=0)
for codec in ["none", "snappy", "gzip", "zstd", "lz4"]:
    write("plain-" + codec, ROWS, compression=codec)
    write("v2-dictionary-" + codec, ROWS, compression=codec, data_page_version="2.0", use_dictionary=["text"])
for encoding in ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]:
    for version in ["1.0", "2.0"]:
        write(f"{encoding.lower()}-v{version[0]}", ROWS, encoding=encoding, data_page_version=version)
write("required", ROWS, nullable=False)
write("dictionary", ROWS, use_dictionary=["text"])
write("small-pages", ROWS, use_dictionary=["text"], data_page_size=64, dictionary_pagesize_limit=200, write_batch_size=4)
write("checksums", ROWS, compression="zstd", write_page_checksum=True)
nulls = [None if i % 3 == 1 else r for i, r in enumerate(ROWS)]
write("nulls", nulls)
write("nulls-v2", nulls, data_page_version="2.0", use_dictionary=["text"], compression="snappy")
write("no-rows", [])
write("brotli", ROWS, compression="brotli")

# Files that stand for far more than they are.
text = pa.schema([pa.field("text", pa.string())])
pq.write_table(pa.table({"text": ["a small one", "a" * 70_000_000, "and another"]}, schema=text), os.path.join(HERE, "large-value.parquet"),
               compression="zstd", use_dictionary=False, write_statistics=False)
same = pa.DictionaryArray.from_arrays(pa.array([0] * 60_000, pa.int32()), pa.array(["long " * 40_000]))
pq.write_table(pa.Table.from_arrays([same], names=["text"]), os.path.join(HERE, "bomb.parquet"),
               compression="zstd", write_statistics=False, store_schema=False, dictionary_pagesize_limit=1 << 24)
