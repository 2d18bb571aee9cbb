"""Runs the Python of a page of docs/for, in the current directory: run_page.py PAGE."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
with open(sys.argv[1], encoding="utf-8") as page:
    blocks = [block.partition("```")[0] for block in page.read().split("```python\n")[1:]]
assert blocks, f"{sys.argv[1]}: no Python"
for block in blocks:
    if "megatron" in block:
        import check_megatron
        check_megatron.load_megatron()
    exec(compile(block, sys.argv[1], "exec"), {"__name__": "__main__"})
