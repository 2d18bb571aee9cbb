"""Writes spaces.txt: the code points that CPython takes for white space, one a
line in hexadecimal. All of Unicode is asked, in the four ways there are; they
must agree.

    python3 spaces.py > spaces.txt
"""

import re
import sys

for point in range(sys.maxunicode + 1):
    char = chr(point)
    answers = {
        char.isspace(),
        char.strip() == "",
        char.split() == [],
        re.match(r"\s", char) is not None,
    }
    assert len(answers) == 1, hex(point)
    if answers.pop():
        print(f"{point:04x}")
