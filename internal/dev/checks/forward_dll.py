"""Writes bcryptprimitives.dll for internal/dev/checks/wine.sh: a library without code, whose only
function the system's loader looks up in another library."""
import struct
import sys

RVA = 0x1000  # of the only section
names = b"bcryptprimitives.dll\0", b"ProcessPrng\0", b"advapi32.SystemFunction036\0"
tables = RVA + 40  # behind the export directory: addresses, names, ordinals
texts = tables + 4 + 4 + 2
dll, name, forwarder = texts, texts + len(names[0]), texts + len(names[0]) + len(names[1])
section = struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, dll, 1, 1, 1, tables, tables + 4, tables + 8)
section += struct.pack("<IIH", forwarder, name, 0) + b"".join(names)

dos = struct.pack("<2s58xI", b"MZ", 64)
file_header = struct.pack("<4sHHIIIHH", b"PE\0\0", 0x8664, 1, 0, 0, 0, 240, 0x2022)  # AMD64, an executable, large addresses, a library
optional = struct.pack("<HBBIIIII", 0x20B, 1, 0, 0, 512, 0, 0, 0)  # no entry point
optional += struct.pack("<QIIHHHHHHIIIIHHQQQQII", 0x180000000, 0x1000, 0x200, 6, 0, 0, 0, 6, 0, 0, 0x2000, 0x200, 0, 3, 0x100, 0x100000, 0x1000, 0x100000, 0x1000, 0, 16)
optional += struct.pack("<II", RVA, len(section)) + bytes(15 * 8)
row = struct.pack("<8sIIIIIIHHI", b".rdata", len(section), RVA, 512, 512, 0, 0, 0, 0, 0x40000040)
with open(sys.argv[1], "wb") as f:
    f.write((dos + file_header + optional + row).ljust(512, b"\0") + section.ljust(512, b"\0"))
