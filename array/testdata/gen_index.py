"""Writes index.txt: basic indexing of np.arange(24).reshape(2, 3, 4).

    python gen_index.py > index.txt      # numpy 2.4

Each line is KEY, the shape and the elements of the result, split by "; ".
"""

import itertools

import numpy as np

PARTS = ["0", "-1", ":", "::-1", "1:", ":-1", "::2", "-1::-2", "5:", ":-9:-1", "2:0", "-9:9", "...", "None"]


def parse(part):
    if part in ("...", "None"):
        return {"...": ..., "None": None}[part]
    if ":" in part:
        return slice(*(int(p) if p else None for p in part.split(":")))
    return int(part)


def main():
    a = np.arange(24).reshape(2, 3, 4)
    keys = [()] + [k for n in (1, 2, 3) for k in itertools.product(PARTS, repeat=n)]
    for i, key in enumerate(keys):
        if key.count("...") > 1 or i > 200 and i % 13:
            continue
        got = a[tuple(parse(p) for p in key)]
        print(",".join(key), " ".join(map(str, got.shape)), " ".join(map(str, got.ravel())), sep="; ")


main()
