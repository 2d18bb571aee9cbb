"""Checks files of a release.

    check_release.py bill FILE BIN     the bill of materials, by the schema of CycloneDX,
                                       and its hashes of the programs in BIN
    check_release.py page FILE         runs each block of Python in a page, one after the other
"""

import hashlib
import json
import os
import re
import sys


def bill(path, programs):
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    with open(path, encoding="utf-8") as f:
        text = f.read()
    problem = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
    assert problem is None, problem
    components = json.loads(text)["components"]
    for name in os.listdir(programs):
        with open(os.path.join(programs, name), "rb") as f:
            want = hashlib.sha256(f.read()).hexdigest()
        found = [c["hashes"][0]["content"] for c in components if c["name"] == name]
        assert found == [want], (name, found, want)
    modules = [c for c in components if c["type"] == "library"]
    unknown = [c["name"] for c in modules if c["name"] != "std" and not c["properties"][0]["value"].startswith("h1:")]
    assert len(modules) > 20 and not unknown, unknown
    print(f"{len(modules)} modules")


def page(path):
    with open(path, encoding="utf-8") as f:
        blocks = re.findall(r"^```python\n(.*?)^```", f.read(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3, len(blocks)
    for block in blocks:
        print(block.splitlines()[-1])
        exec(compile(block, path, "exec"), {"__name__": "page"})


if __name__ == "__main__":
    {"bill": bill, "page": page}[sys.argv[1]](*sys.argv[2:])
