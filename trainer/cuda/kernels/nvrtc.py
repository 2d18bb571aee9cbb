"""Compiles the CUDA sources of this folder with NVRTC. No GPU is needed.

    nvrtc.py ptx LIBRARY      write every module's PTX beside its source
    nvrtc.py check LIBRARY    compile every module for sm_80 and sm_90; fail on a stack or spilled registers

LIBRARY is the folder of libnvrtc.so.12 or "auto": that of the package
nvidia-cuda-nvrtc-cu12 of the Python that runs this. PTX is the same bytes on every machine: the version of NVRTC is
pinned by the Makefile, and absolute paths are cut from the .file lines.
"""

import ctypes
import hashlib
import pathlib
import re
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

    def compile(self, source, options, want):
        """Returns (PTX or CUBIN, log) of a source."""
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
        log = self.text(program, "ProgramLog").rstrip(b"\0").decode()
        result = self.text(program, want)
        self.call("DestroyProgram", ctypes.byref(program))
        return result, log


COMMON = ["--std=c++17", "--fmad=true", "--prec-div=true", "--prec-sqrt=true"]


def write_ptx(nvrtc):
    for source, name, options in modules():
        text, _ = nvrtc.compile(source, COMMON + options + [f"--gpu-architecture=compute_{LEAST.get(source.stem, '80')}", "-lineinfo"], "PTX")
        text = text.rstrip(b"\0").decode()
        text = re.sub(r'(\.file\s+\d+ ")[^"]*/', r"\1", text)
        # So that a test without NVRTC sees that a source was changed and not compiled.
        digest = hashlib.sha256(source.read_bytes() + (HERE / "dev.cuh").read_bytes()).hexdigest()
        (HERE / f"{name}.ptx").write_text(f"// {source.name} and dev.cuh: SHA-256 {digest}\n{text}")


def check(nvrtc):
    """Prints a line a kernel and architecture; fails on a stack or spilled registers."""
    bad = 0
    for source, name, options in modules():
        for arch in f"sm_{LEAST.get(source.stem, '80')}", "sm_90":
            _, log = nvrtc.compile(source, COMMON + options + [f"--gpu-architecture={arch}", "--ptxas-options=-v"], "CUBIN")
            kernel, kernels = None, 0
            for line in log.splitlines():
                if m := re.search(r"Function properties for (\w+)", line):
                    kernel = m.group(1)
                elif m := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
                    stack, stores, loads = map(int, m.groups())
                elif m := re.search(r"Used (\d+) registers", line):
                    kernels += 1
                    bad += bool(stack + stores + loads)
                    print(f"{name} {arch} {kernel}: {m.group(1)} registers, {stack} bytes of stack, {stores + loads} of spills")
            if kernels != source.read_text().count("KERNEL("):
                sys.exit(f"{name} {arch}: the log names {kernels} kernels\n{log}")
    if bad:
        sys.exit(f"{bad} kernels have a stack or spill registers")


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("ptx", "check"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[2])
    if sys.argv[2] == "auto":
        import nvidia.cuda_nvrtc

        folder = pathlib.Path(nvidia.cuda_nvrtc.__path__[0]) / "lib"
    nvrtc = NVRTC(folder)
    {"ptx": write_ptx, "check": check}[sys.argv[1]](nvrtc)


if __name__ == "__main__":
    main()
