"""Prints one table: the time of a call of ONNX Runtime through us, in-process, and
by its own Python package, on the same models with the same threads.

    python bench/calls.py

Times are medians over rounds that take turns, in microseconds; the goal is a ratio
of at most 1.05. It needs Go, and Python with onnxruntime, whose library both use;
nothing of the product or of its tests needs it.
"""

import glob
import os
import re
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime

ROUNDS = 5


def library():
    """Returns the library that the Python package brings."""
    folder = os.path.join(os.path.dirname(onnxruntime.__file__), "capi")
    return sorted(glob.glob(os.path.join(folder, "libonnxruntime.*")))[0]


def ours(folder):
    """Returns µs by model, and leaves the models in the folder."""
    env = dict(os.environ, SGS_CALLS_DIR=folder, SGS_ORT_LIB=os.environ.get("SGS_ORT_LIB", library()))
    out = subprocess.run(["go", "test", "./bench", "-run", "^$", "-bench", "^BenchmarkCalls$", "-benchtime", "0.5s"],
                         check=True, capture_output=True, text=True, env=env).stdout
    return {name: float(ns) / 1e3 for name, ns in re.findall(r"Calls/(\w+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op", out)}


def theirs(path):
    """Returns µs of a call."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x = session.get_inputs()[0]
    feed = {x.name: np.full(x.shape, 0.5, np.float32)}
    session.run(None, feed)
    count, begin = 0, time.perf_counter()
    while count < 10 or time.perf_counter() - begin < 0.5:
        session.run(None, feed)
        count += 1
    return (time.perf_counter() - begin) / count * 1e6


def main():
    with tempfile.TemporaryDirectory() as folder:
        mine, other = {}, {}
        for _ in range(ROUNDS):
            for name, us in ours(folder).items():
                mine.setdefault(name, []).append(us)
                other.setdefault(name, []).append(theirs(os.path.join(folder, name + ".onnx")))
    print(f"{'model':10}{'through us':>12}{'Python':>12}{'ratio':>8}")
    for name, times in mine.items():
        us, python = statistics.median(times), statistics.median(other[name])
        print(f"{name:10}{us:12.1f}{python:12.1f}{us / python:8.2f}")


if __name__ == "__main__":
    main()
