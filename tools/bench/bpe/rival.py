"""The tiktoken half of the comparison. Same arguments and output as `bpe`.

Usage: BPE_RANKS=<folder> python rival.py FILE ENCODING CHUNK REPEATS
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../internal/bpe/testdata"))
from reference import encoding  # noqa: E402


def chunks(data, size):
    if size == 0:
        return [data.decode()]
    parts = []
    while len(data) > size:
        n = size
        while data[n] & 0xC0 == 0x80:
            n -= 1
        parts.append(data[:n].decode())
        data = data[n:]
    return parts + [data.decode()]


def main(file, name, size, repeats):
    enc = encoding(name)
    with open(file, "rb") as f:
        data = f.read()
    parts = chunks(data, int(size))
    times = []
    for _ in range(int(repeats) + 1):
        start = time.process_time_ns()
        total = sum(len(enc.encode_ordinary(p)) for p in parts)
        times.append(time.process_time_ns() - start)
    print("tiktoken", name, size, total, len(data), *times[1:])


main(*sys.argv[1:])
