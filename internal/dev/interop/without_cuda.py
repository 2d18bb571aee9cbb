"""Makes PyTorch of the package index importable without the libraries of CUDA, which take
gigabytes: writes libraries of their names with functions that do nothing.

    python without_cuda.py

Its libraries ask for functions by name and version. The check computes on the CPU, so none is
called but those that register kernels, which may fail, and the one that counts devices.
"""

import collections
import glob
import importlib.util
import os
import re
import subprocess
import tempfile

NO_DEVICE = 100  # cudaErrorNoDevice
torch = os.path.join(os.path.dirname(importlib.util.find_spec("torch").origin), "lib")


def readelf(*args):
    return subprocess.run(["readelf", "-W", *args], capture_output=True, text=True, check=True).stdout


def asked():
    """Returns the libraries that are missing, with the functions of each version, and the functions without one."""
    files = sorted(glob.glob(os.path.join(torch, "*.so*")))
    missing, versions, loose, defined = {}, {}, set(), set()
    functions = collections.defaultdict(set)
    for path in files:
        for name in re.findall(r"\(NEEDED\).*\[(lib(?:cu|nv|nccl).*)\]", readelf("-d", path)):
            if not os.path.exists(os.path.join(torch, name)):
                missing[name] = {}
        library = ""
        for line in readelf("-V", path).splitlines():
            if m := re.search(r"File: (\S+)", line):
                library = m[1]
            elif m := re.search(r"Name: (\S+)", line):
                versions[m[1]] = library
        for line in readelf("--dyn-syms", path).splitlines():
            part = line.split()
            if len(part) < 8 or not part[0].rstrip(":").isdigit():
                continue
            name, _, version = part[7].replace("@@", "@").partition("@")
            if part[6] != "UND":
                defined.add(name)
            elif version:
                functions[version].add(name)
            elif re.match(r"(cu|nccl|nv)", name):
                loose.add(name)
    for version, library in versions.items():
        if library in missing and functions[version]:
            missing[library][version] = sorted(functions[version])
    return missing, sorted(loose - defined)


def build(name, versions, loose):
    """Compiles a library and puts it into its place whole."""
    with tempfile.TemporaryDirectory(dir=torch) as at:
        source, script, out = (os.path.join(at, f) for f in ("stub.c", "stub.map", name))
        with open(source, "w") as f:
            f.write("int pretext_stub;\n")
            for function in [*sum(versions.values(), []), *loose]:
                f.write("long %s(void) { return %d; }\n" % (function, NO_DEVICE if function == "cudaGetDeviceCount" else 0))
        groups = {**versions, **({"unversioned": loose} if versions and loose else {})}
        with open(script, "w") as f:
            f.writelines("%s { global: %s };\n" % (v, " ".join(s + ";" for s in names)) for v, names in groups.items())
        script = ["-Wl,--version-script=" + script] if groups else []
        subprocess.run(["gcc", "-w", "-fno-builtin", "-shared", "-fPIC", "-Wl,-soname," + name, *script, "-o", out, source], check=True)
        os.rename(out, os.path.join(torch, name))


missing, loose = asked()
for name in sorted(missing, reverse=True):  # the first holds those without a version, which the next call must find missing
    build(name, missing[name], loose if name == min(missing) else [])
