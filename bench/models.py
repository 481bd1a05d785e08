"""Prints one table: each real model on the reference backend, on ONNX Runtime,
both in one Go process, and on the onnx package's own reference evaluator.

    SGS_CORPUS=../shared/corpus python bench/models.py

Times are medians in milliseconds. It needs Go, ONNX Runtime as `sgs backends
install onnxruntime` puts it, and Python with onnx; nothing of the product or of
its tests needs it.
"""

import math
import os
import re
import resource
import statistics
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

SHAPES = {
    "ch_PP-OCRv4_det_infer.onnx": {"x": [1, 3, 640, 640]},
    "ch_ppocr_mobile_v2.0_cls_infer.onnx": {"x": [1, 3, 48, 192]},
    "embedding_model.onnx": {},
    "melspectrogram.onnx": {"input": [1, 16000]},
    "silero_vad_op18_ifless.onnx": {"input": [1, 576], "state": [2, 1, 128]},
    "silero_vad_v5.onnx": {"input": [1, 512], "state": [2, 1, 128]},
    "silero_vad_legacy.onnx": {"input": [1, 512], "h": [2, 1, 64], "c": [2, 1, 64]},
    "timer_v0.1.onnx": {},
}


def ours():
    """Runs the Go benchmarks, and returns ms by model and backend."""
    out = subprocess.run(
        ["go", "test", "./bench", "-run", "^$", "-bench", "Models", "-benchtime", "1s", "-count", "3"],
        check=True, capture_output=True, text=True).stdout
    times = {}
    for model, backend, ns in re.findall(r"Models/(\S+)/(reference|onnxruntime)-?\d*\s+\d+\s+(\d+) ns/op", out):
        times.setdefault((model, backend), []).append(int(ns) / 1e6)
    return {key: statistics.median(v) for key, v in times.items()}


def theirs(path, shapes):
    """Returns ms of the onnx package's evaluator, or None where it fails."""
    model = onnx.load(path)
    rng = np.random.default_rng(1)
    feed = {}
    held = {t.name for t in model.graph.initializer}
    for value in model.graph.input:
        if value.name in held:
            continue
        tensor = value.type.tensor_type
        shape = shapes.get(value.name, [d.dim_value or 1 for d in tensor.shape.dim])
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        feed[value.name] = np.full(shape, 16000, dtype) if value.name == "sr" else rng.random(shape).astype(dtype)
    try:
        session = ReferenceEvaluator(model)
        session.run(None, feed)
    except Exception as error:
        print(f"onnx.reference cannot run {os.path.basename(path)}: {str(error).splitlines()[0]}", file=sys.stderr)
        return None
    times, end = [], time.time() + 5
    while not times or time.time() < end and len(times) < 20:
        begin = time.perf_counter()
        session.run(None, feed)
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def geomean(xs):
    return math.exp(sum(map(math.log, xs)) / len(xs))


def main():
    root = os.path.join(os.environ["SGS_CORPUS"], "models")
    times = ours()
    slower, faster = [], []
    print(f"{'model':40}{'reference':>11}{'onnxruntime':>13}{'onnx':>10}{'ours/ort':>10}{'onnx/ours':>11}")
    for name, shapes in SHAPES.items():
        ref, ort, other = times[name, "reference"], times[name, "onnxruntime"], theirs(os.path.join(root, name), shapes)
        slower.append(ref / ort)
        line = f"{name:40}{ref:11.3f}{ort:13.3f}"
        if other is None:
            print(f"{line}{'fails':>10}{ref / ort:10.2f}")
            continue
        faster.append(other / ref)
        print(f"{line}{other:10.1f}{ref / ort:10.2f}{other / ref:11.1f}")
    print(f"geometric mean: {geomean(slower):.2f} times ONNX Runtime's, {geomean(faster):.1f} times faster than onnx.reference")
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
