"""Writes cast.txt: what NumPy, ml_dtypes and onnx make of casts.

    python gen_cast.py > cast.txt        # numpy 2.4, ml_dtypes 0.6, onnx 1.23

A line "from TYPE HEX" gives the bytes of elements, as raw_data has them, and
each line "TYPE MODE HEX" under it those of their cast; the mode is "-", or
"nosat" for saturate=0, or a round_mode. A line "hash TYPE MODE SHA256" is about
the float32 numbers, NaNs left out, whose bits are the multiples of 4099.
"""

import hashlib
import warnings

import ml_dtypes
import numpy as np
from onnx.numpy_helper import saturate_cast, to_float8e8m0

warnings.simplefilter("ignore")

F8 = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"]
FLOATS = ["float16", "float32", "float64", "bfloat16", *F8, "float4_e2m1fn"]
INTS = [s + str(n) for n in (8, 16, 32, 64) for s in ("int", "uint")] + ["int4", "uint4", "int2", "uint2"]
BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def packed(a):
    """The bytes of raw_data."""
    bits = BITS.get(str(a.dtype))
    if bits is None:
        return a.tobytes()
    per, codes = 8 // bits, a.view(np.uint8) & (1 << bits) - 1
    codes = np.concatenate([codes, np.zeros(-len(codes) % per, np.uint8)]).reshape(-1, per)
    return (codes << np.arange(per, dtype=np.uint8) * bits).sum(axis=1).astype(np.uint8).tobytes()


def cast(a, to, saturate=True):
    """Casts one by one: NumPy's vector loops differ where C leaves things open."""
    if to in F8:
        wide = a.astype(np.float64)
        return saturate_cast(wide, dtype(to)) if saturate else wide.astype(dtype(to))
    if str(a.dtype) in BITS and to in BITS:
        a = a.astype(np.float32)  # ml_dtypes has no way from one packed type to another
    return np.concatenate([a[i : i + 1].astype(dtype(to)) for i in range(len(a))])


def emit(a, targets):
    print("from", a.dtype, packed(a).hex())
    for to in targets:
        if to == str(a.dtype):
            continue
        print(to, "-", packed(cast(a, to)).hex())
        if to in F8 and str(a.dtype) in ("float32", "float16"):
            print(to, "nosat", packed(cast(a, to, False)).hex())


def float_samples():
    rng = np.random.default_rng(7)
    odd = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 1.17549435e-38, 3.4028235e38, -3.4028235e38]
    edges = [57344, 61439.99, 61440, 65504, 65519.996, 65520, 448, 464, 464.00003, 480, 240, 247.99998, 248, 256]
    edges += [6, 7, 5, 4.5, 3.5, 2.5, 1.75, 1.25, 0.75, 0.25, 0.2500001, 0.0078125, 0.0009765625, 0.0029296875]
    edges += [300.7, 1e10, 3e9, 5e9, 1e19, 2.0**63, 2.0**64, 1e20, 2147483648.0, 2147483520.0, 40000, 65536.9, 128, 129]
    edges += [2.0**e * m for e in range(-25, 18, 7) for m in (1.0625, 1.125, 1.1875)]
    some = rng.normal(size=24) * 10.0 ** rng.integers(-9, 9, size=24)
    return np.concatenate([odd, edges, np.negative(edges), some]).astype(np.float32)


def int_samples(name):
    if name in BITS:
        n = BITS[name]
        return np.arange(-(1 << n - 1), 1 << n - 1).astype(dtype(name)) if name[0] == "i" else np.arange(1 << n).astype(dtype(name))
    info = np.iinfo(name)
    vals = [0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 100, 127, 128, 200, 255, 256, 300, 511, 32767, 32768, 65535, 65536, 65519, 65520]
    vals += [2**24 + 1, 2**24 + 3, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**53 + 3, 2**63 - 1, 2**63, 2**64 - 1]
    vals += [-v for v in vals]
    return np.array([v for v in vals if info.min <= v <= info.max], dtype=name)


def hashes():
    bits = np.arange(0, 1 << 32, 4099, dtype=np.uint64).astype(np.uint32)
    a = bits.view(np.float32)
    a = a[~np.isnan(a)]
    for to in FLOATS:
        if to == "float32":
            continue
        for mode in ("-", "nosat") if to in F8 else ("-",):
            if to in F8 and mode == "-":
                out = saturate_cast(a, dtype(to))
            else:
                out = a.astype(dtype(to))
            print("hash", to, mode, hashlib.sha256(packed(out)).hexdigest())


def main():
    a = float_samples()
    targets = FLOATS + INTS + ["bool"]
    emit(a, targets)
    normal = np.abs(a[np.isfinite(a) & (np.abs(a) >= 2.0**-126) & (np.abs(a) <= 2.0**127)])
    print("from", normal.dtype, packed(normal).hex())
    for mode in ("up", "down", "nearest"):
        print("float8_e8m0fnu", mode, to_float8e8m0(normal, True, mode).tobytes().hex())
    wide = [1e300, -1e300, 1e-300, 0.1, 1 / 3, 1e18 + 1000, -1.5e9, np.nan, np.inf, -np.inf, 1e20, -1e19, 1e19]
    emit(np.array(wide), targets)
    emit(a.astype(np.float16), ["float32", "float64", "bfloat16", *F8, "float4_e2m1fn", "int8", "int32", "uint64", "int4"])
    emit(a.astype(dtype("bfloat16")), ["float32", "float64", "float16", *F8, "uint8", "int64", "bool"])
    for name in [*F8, "float8_e8m0fnu"]:
        emit(np.arange(256, dtype=np.uint8).view(dtype(name)), ["float32", "float64", "bool"])
    emit(np.arange(16, dtype=np.uint8).view(dtype("float4_e2m1fn")), targets)
    for name in INTS:
        emit(int_samples(name), targets)
    emit(np.array([False, True, True]), FLOATS + INTS)
    hashes()


main()
