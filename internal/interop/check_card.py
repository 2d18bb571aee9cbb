"""Reads a dataset card as Hugging Face's own library does, and checks what it
finds: python check_card.py README.md SHARDS_FOLDER"""

import glob
import os
import sys

from huggingface_hub import DatasetCard

card = DatasetCard.load(sys.argv[1])
data = card.data
assert data.task_categories == ["fill-mask"], data.task_categories
assert data.license and data.size_categories and data.pretty_name, data
files = {f["split"]: f["path"] for f in data.configs[0]["data_files"]}
assert set(files) == {"train", "validation"}, files
root = os.path.dirname(os.path.abspath(sys.argv[1]))
for split, pattern in files.items():
    found = glob.glob(os.path.join(root, pattern))
    assert found and all(f.endswith((".tfrecord", ".tfrecord.gz")) for f in found), (split, found)
assert card.text.strip().startswith("# "), card.text[:40]
print("card ok:", data.license, data.language, data.size_categories, files)
