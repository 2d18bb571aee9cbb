"""Compiles the CUDA sources of this folder. No GPU is needed.

    nvrtc.py ptx FOLDER      write every module's PTX beside its source
    nvrtc.py check FOLDER    make machine code of the PTX for two chips; fail on a stack, spilled registers or
                             too few blocks of a kernel on a multiprocessor

FOLDER is that of libnvrtc.so.12 or of ptxas, or "auto": that of the package nvidia-cuda-nvrtc-cu12 or
nvidia-cuda-nvcc-cu12 of the Python that runs this. PTX is the same bytes on every machine: the version of NVRTC is
pinned, and absolute paths are cut from the .file lines.
"""

import ctypes
import hashlib
import importlib
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

# Each source is compiled once a type: name -> the sources' -D.
TYPES = {"f32": "DT_F32", "bf16": "DT_BF16", "f16": "DT_F16"}


# Sources for some types only: tensor cores multiply 16-bit types, and 8 bits are made of
# bfloat16.
ONLY = {"flash": ["bf16", "f16"], "fp8": ["bf16"]}

# The least architecture of a source's PTX: fp8 has instructions of later chips.
LEAST = {"fp8": "89"}


def modules():
    """Yields (source, output name, options)."""
    for source in sorted(HERE.glob("*.cu")):
        for name, define in TYPES.items():
            if name not in ONLY.get(source.stem, TYPES):
                continue
            yield source, f"{source.stem}.{name}", [f"-D{define}"]


class NVRTC:
    def __init__(self, folder):
        # NVRTC opens its builtins by name: they are found because they are loaded already.
        for builtins in sorted(folder.glob("libnvrtc-builtins.so.*")):
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
        self.lib = ctypes.CDLL(str(folder / "libnvrtc.so.12"))
        self.lib.nvrtcGetErrorString.restype = ctypes.c_char_p

    def call(self, name, *args):
        code = getattr(self.lib, "nvrtc" + name)(*args)
        if code:
            raise RuntimeError(f"nvrtc{name}: {self.lib.nvrtcGetErrorString(code).decode()}")

    def text(self, program, what):
        size = ctypes.c_size_t()
        self.call(f"Get{what}Size", program, ctypes.byref(size))
        data = ctypes.create_string_buffer(size.value)
        self.call(f"Get{what}", program, data)
        return data.raw

    def compile(self, source, options):
        """Returns the PTX of a source."""
        headers = sorted(HERE.glob("*.cuh"))
        names = (ctypes.c_char_p * len(headers))(*[h.name.encode() for h in headers])
        texts = (ctypes.c_char_p * len(headers))(*[h.read_bytes() for h in headers])
        program = ctypes.c_void_p()
        self.call("CreateProgram", ctypes.byref(program), source.read_bytes(), source.name.encode(), len(headers), texts, names)
        argv = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
        try:
            self.call("CompileProgram", program, len(options), argv)
        except RuntimeError as err:
            sys.exit(f"{source.name} {options}: {err}\n{self.text(program, 'ProgramLog').decode(errors='replace')}")
        text = self.text(program, "PTX").rstrip(b"\0").decode()
        self.call("DestroyProgram", ctypes.byref(program))
        return text


COMMON = ["--std=c++17", "--fmad=true", "--prec-div=true", "--prec-sqrt=true"]


def write_ptx(nvrtc):
    for source, name, options in modules():
        text = nvrtc.compile(source, COMMON + options + [f"--gpu-architecture=compute_{LEAST.get(source.stem, '80')}", "-lineinfo"])
        text = re.sub(r'(\.file\s+\d+ ")[^"]*/', r"\1", text)
        # So that a test without NVRTC sees that a source was changed and not compiled.
        digest = hashlib.sha256(source.read_bytes() + (HERE / "dev.cuh").read_bytes()).hexdigest()
        (HERE / f"{name}.ptx").write_text(f"// {source.name} and dev.cuh: SHA-256 {digest}\n{text}")


# Blocks of a kernel that a multiprocessor must have room for: registers and memory that
# one block takes away from another are not worth what they save. Flash's forward pass
# needs a fourth block to hide the latency of its products.
BLOCKS = {
    "flash_forward": {"sm_80": 4, "sm_90": 4},
    "flash_local_forward": {"sm_80": 4, "sm_90": 4},
    "flash_backward": {"sm_80": 2, "sm_90": 3},
    "flash_local_backward": {"sm_80": 2, "sm_90": 3},
    "flash_backward_keys": {"sm_80": 2, "sm_90": 3},
    "flash_local_backward_keys": {"sm_80": 2, "sm_90": 3},
    "flash_backward_queries": {"sm_80": 3, "sm_90": 3},
    "flash_local_backward_queries": {"sm_80": 3, "sm_90": 3},
}

# Bytes of shared memory that a launch adds to what a kernel declares: kernels.FlashShared
# (TestThePTXCheckCountsSharedMemoryOfLaunches). Six tiles leave an A100, with 164 KB, two
# blocks where its registers allow three.
FLASH_SHARED = 55296
DYNAMIC = {name: FLASH_SHARED for name in ("flash_backward", "flash_backward_keys", "flash_local_backward", "flash_local_backward_keys")}

# Shared memory of a multiprocessor, of which a block takes a kilobyte more than it asks
# for (CUDA C++ programming guide, compute capabilities).
SHARED = {"sm_80": 164 << 10, "sm_89": 100 << 10, "sm_90": 228 << 10}


def blocks(arch, threads, registers, shared):
    """Returns how many blocks have room: a warp gets registers in units of 256."""
    of_warp = (registers * 32 + 255) // 256 * 256
    return min(65536 // (of_warp * (threads // 32)), SHARED[arch] // (shared + 1024))


def check(ptxas):
    """Prints a line a kernel and architecture; fails on a stack, spilled registers or too few blocks.

    Shared memory is what a kernel declares and what a launch adds.
    """
    bad, seen = [], set()
    for source, name, _ in modules():
        text = (HERE / f"{name}.ptx").read_text()
        threads = dict(re.findall(r"\.visible \.entry (\w+)\([^{]*?\.maxntid (\d+)", text))
        for arch in f"sm_{LEAST.get(source.stem, '80')}", "sm_90":
            log = subprocess.run([ptxas, "-v", f"-arch={arch}", "-o", "/dev/null", HERE / f"{name}.ptx"], check=True, capture_output=True, text=True).stderr
            kernel, kernels = None, 0
            for line in log.splitlines():
                if m := re.search(r"Function properties for (\w+)", line):
                    kernel = m.group(1)
                elif m := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
                    stack, stores, loads = map(int, m.groups())
                elif m := re.search(r"Used (\d+) registers", line):
                    kernels += 1
                    registers, m = int(m.group(1)), re.search(r"(\d+) bytes smem", line)
                    shared, least = (int(m.group(1)) if m else 0) + DYNAMIC.get(kernel, 0), BLOCKS.get(kernel, {}).get(arch, 1)
                    room = blocks(arch, int(threads[kernel]), registers, shared)
                    line = f"{name} {arch} {kernel}: {registers} registers, {shared} bytes of shared memory, {stack} of stack, {stores + loads} of spills, room for {room} blocks"
                    print(line)
                    if stack + stores + loads:
                        bad.append(f"{line}: it has a stack or spills registers")
                    if room < least:
                        bad.append(f"{line}: it must have {least}")
            if kernels != source.read_text().count("KERNEL("):
                sys.exit(f"{name} {arch}: the log names {kernels} kernels\n{log}")
        seen.update(threads)
    if missing := (BLOCKS.keys() | DYNAMIC.keys()) - seen:
        bad.append(f"no kernel is named {', '.join(sorted(missing))}")
    if bad:
        sys.exit("\n".join(bad))


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("ptx", "check"):
        sys.exit(__doc__)
    if sys.argv[1] == "ptx":
        write_ptx(NVRTC(found(sys.argv[2], "cuda_nvrtc", "lib")))
    else:
        check(found(sys.argv[2], "cuda_nvcc", "bin") / "ptxas")


def found(folder, package, below):
    """Returns the folder, or that of a package of NVIDIA of the Python that runs this."""
    if folder != "auto":
        return pathlib.Path(folder)
    return pathlib.Path(importlib.import_module(f"nvidia.{package}").__path__[0]) / below


if __name__ == "__main__":
    main()
