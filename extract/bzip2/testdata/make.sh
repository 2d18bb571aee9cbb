#!/bin/sh
# Writes the fixtures of this folder with the bzip2 tool (1.0.8 when they were
# made). Run it here; the tests compare with compress/bzip2, so that other
# versions of the tool will do.
set -e
words() { # words N: N lines
	awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "line %d of a small story, told %d times\n", i, i * i % 97 }'
}
printf '' | bzip2 -9 >empty.bz2
printf 'a' | bzip2 -1 >one-byte.bz2
python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)))' | bzip2 -9 >values.bz2
# Runs of every length about the marks of run-length coding.
python3 -c 'import sys
for n in (1, 2, 3, 4, 5, 6, 254, 255, 256, 258, 259, 260, 510, 511, 1020): sys.stdout.buffer.write(b"x" * n + b"y")' | bzip2 -9 >runs.bz2
words 300 | bzip2 -9 >level-9.bz2
words 300 | bzip2 -1 >level-1.bz2
# Three blocks of a level 1 stream.
words 7000 | bzip2 -1 >blocks-1.bz2
# Two blocks of a level 9 stream, of text that repeats itself.
python3 -c 'print("the same words again and again, " * 40000)' | bzip2 -9 >repeats.bz2
# One block of 20 MB.
python3 -c 'import sys; sys.stdout.buffer.write(b"\0" * 20000000)' | bzip2 -9 >zeros.bz2
# Streams of several levels, one of them empty.
{ words 20 | bzip2 -9; words 3 | bzip2 -1; printf '' | bzip2 -5; words 40 | bzip2 -2; printf '' | bzip2 -9; } >streams.bz2
