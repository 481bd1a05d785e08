"""Writes print.txt: arrays and how NumPy prints them, a JSON object to a line.

    python gen_print.py > print.txt      # numpy 2.4

An array is given by "dtype", "shape" and one of "hex" (its bytes), "strings",
or "ramp" ([start, step]: element i is start + i * step, cast to the type).
"scalars" has the text of every float16 with 0 <= bits < 0x7c00, hashed.
"""

import hashlib
import json
import warnings

import numpy as np

warnings.simplefilter("ignore")


def emit(a):
    a = np.asarray(a)
    case = {"dtype": str(a.dtype), "shape": a.shape, "hex": a.tobytes().hex(), "want": str(a)}
    print(json.dumps(case))


def strings(vals, shape):
    a = np.array(vals, dtype=object).reshape(shape)
    print(json.dumps({"dtype": "string", "shape": shape, "strings": vals, "want": str(a) if shape else str(a[()])}))


def ramp(dtype, shape, start, step):
    n = int(np.prod(shape))
    a = (start + np.arange(n, dtype=np.float64) * step).astype(dtype).reshape(shape)
    print(json.dumps({"dtype": dtype, "shape": shape, "ramp": [start, step], "want": str(a)}))


FLOATS = [
    [1.0], [1.5, -2.25, 3], [0.1, 0.2, 0.3], [1e6, 1], [999999, 1], [1e8, 5], [99999999, 5], [1e-4, 1], [9.9e-5, 0.5],
    [1000, 1], [1001, 1], [1000.5, 1, -3], [np.nan], [np.inf], [-np.inf], [np.nan, 1], [1, -np.inf], [np.inf, 1.25, np.nan],
    [-np.inf, np.nan, 1e20], [0, -0.0], [1 / 3, 2 / 3], [123456.789, 0.5], [1e-10, 1], [3.14159265358979, 100], [1e300, 1],
    [1e-300, 2], [5e-324, 1], [65504, 0.1], [6e-8, 1], [-1, 10, -100], [0.001, 0.5], [16777216, 16777217], [0.5, np.nan, -np.inf],
    [2.0**60], [1e15, 2e15], [123456789.123456789], [0.1 + 0.2, 1], [-0.00012345678912, 0.1], [1e100, np.nan], [0.99999999, 1],
    [0.999999999, 1], [12.345678949, 9.9], [-1e-5, np.inf],
]  # fmt: skip


def main():
    for dtype in ("float64", "float32", "float16"):
        for vals in FLOATS:
            emit(np.array(vals, dtype=dtype))
            emit(np.array(vals[0], dtype=dtype))
    rng = np.random.default_rng(3)
    for dtype in ("float64", "float32", "float16"):
        for scale in (1, 100, 1e-3, 1e5):
            emit((rng.normal(size=(3, 7)) * scale).astype(dtype))
            emit((rng.normal(size=23) * scale).astype(dtype))
        emit(rng.normal(size=(2, 3, 4)).astype(dtype))
        ramp(dtype, (1001,), 0, 1)
        ramp(dtype, (1000,), 0, 0.5)
        ramp(dtype, (30, 40), -5, 0.25)
        ramp(dtype, (4, 7, 41), 0, 1)
        ramp(dtype, (7, 1, 200), -3, 0.125)
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        info = np.iinfo(dtype)
        emit(np.array([info.min, 0, info.max], dtype=dtype))
        emit(np.array(info.max, dtype=dtype))
        emit(np.arange(60).astype(dtype).reshape(3, 4, 5))
    ramp("int64", (2000,), -1000, 1)
    ramp("int32", (3, 500), 0, 7)
    ramp("int64", (60,), 0, 1)
    ramp("int64", (2, 2, 2, 2, 3), 0, 1)
    ramp("int64", (1, 1, 1, 80), 0, 1)
    for shape in ((0,), (0, 3), (2, 0), (1, 1, 1)):
        emit(np.zeros(shape, dtype=np.float32))
    emit([True, False])
    emit([[True, True]])
    emit(np.bool_(True))
    emit(np.zeros(40, dtype=bool))
    for dtype in ("complex128", "complex64"):
        for vals in ([1 + 2j, 0.5 - 1j], [1e10 + 2j, np.nan], [complex(np.inf, -np.inf), 1], [complex(0, np.nan), 2j], [0.1 + 1e-7j], [0, -0.0]):
            emit(np.array(vals, dtype=dtype))
            emit(np.array(vals[0], dtype=dtype))
        emit((rng.normal(size=(2, 6)) + 1j * rng.normal(size=(2, 6))).astype(dtype))
        emit(np.array(2j, dtype=dtype))
        emit(np.array(complex(-0.0, -1.5), dtype=dtype))
    strings(["a", "bbb"], [2])
    strings(["it's", 'say "x"', "both ' and \"", "back\\slash"], [2, 2])
    strings(["é\n\t\r\x1b", "中文", "\u200b\xa0\x7f\x85", "\U0001f600", "\u2028\ufeff\U000e0001", ""], [6])
    strings(["word%d" % i for i in range(30)], [30])
    strings(["plain 'text'"], [])
    bits = np.arange(0x7C00, dtype=np.uint16).view(np.float16)
    text = "\n".join(str(v) for v in bits)
    print(json.dumps({"scalars": "float16", "want": hashlib.sha256(text.encode()).hexdigest()}))


main()
