"""Writes dtypes.json: for each element type of ONNX a model with seven elements
of it, once with the bytes in raw_data and once in the typed field, and what the
onnx package and ml_dtypes read in them and make of a cast. Run it by hand when
the standard gets another type; the test reads the file alone.

    python dtypes.py > dtypes.json
"""
import base64
import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

FLOATS = [0.0, 1.0, -1.5, 2.0, float("nan"), 0.375, 3.0]
NUMBERS = [0.0, -0.75, 1.5, 2.5, 3.0, 100.0, -7.0, 0.3, 6.0]


def text(v):
    v = v.item() if hasattr(v, "item") else v
    if isinstance(v, bytes):
        return v.decode()
    if isinstance(v, complex):
        return [str(float(v.real)), str(float(v.imag))]
    if isinstance(v, bool):
        return str(int(v))
    if isinstance(v, (int, str)):
        return str(v)
    return str(float(v))


def elements(kind, dt):
    if kind == TensorProto.STRING:
        return np.array(["", "a", "é", "b\nc", "日本", "\U0001f600", "z"], object)
    if kind == TensorProto.BOOL:
        return np.array([0, 1, 1, 0, 1, 0, 1], bool)
    if dt.kind == "c":
        return np.array([0, 1, 1j, 2 - 1j, -1, complex("nan"), 3], dt)
    name = TensorProto.DataType.Name(kind)
    if name.startswith(("INT", "UINT")):
        bits = int(name.lstrip("UINT"))
        lo, hi = (0, 2**bits - 1) if name[0] == "U" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return np.array([lo, hi, 0, 1, lo, hi, 1], object).astype(dt)
    return np.array([abs(v) if "E8M0" in name else v for v in FLOATS], np.float32).astype(dt)


def typed(kind, a):
    """The tensor with its elements in the field of its type, as protobuf's text says."""
    t = TensorProto(name="w", data_type=kind, dims=a.shape)
    if kind == TensorProto.STRING:
        t.string_data.extend(s.encode() for s in a)
        return t
    raw = numpy_helper.from_array(a).raw_data
    if kind == TensorProto.FLOAT:
        t.float_data.extend(a.tolist())
    elif kind == TensorProto.DOUBLE:
        t.double_data.extend(a.tolist())
    elif kind == TensorProto.COMPLEX64:
        t.float_data.extend(a.view(np.float32).tolist())
    elif kind == TensorProto.COMPLEX128:
        t.double_data.extend(a.view(np.float64).tolist())
    elif kind == TensorProto.INT64:
        t.int64_data.extend(a.tolist())
    elif kind in (TensorProto.UINT32, TensorProto.UINT64):
        t.uint64_data.extend(a.tolist())
    elif kind in (TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.UINT8, TensorProto.UINT16, TensorProto.BOOL):
        t.int32_data.extend(int(v) for v in a)
    elif kind in (TensorProto.FLOAT16, TensorProto.BFLOAT16):
        t.int32_data.extend(np.frombuffer(raw, "<u2").tolist())
    elif TensorProto.DataType.Name(kind).startswith("FLOAT6"):  # an element each
        t.int32_data.extend((a.view(np.uint8) & 63).tolist())
    else:  # a byte each, packed ones too
        t.int32_data.extend(raw)
    return t


def model(t):
    y = helper.make_tensor_value_info("y", t.data_type, list(t.dims))
    g = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [y], [t])
    return base64.b64encode(helper.make_model(g, opset_imports=[helper.make_opsetid("", 25)], ir_version=11).SerializeToString()).decode()


def cast(a, kind, to):
    x = helper.make_tensor_value_info("x", kind, [None])
    y = helper.make_tensor_value_info("y", to, [None])
    g = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=to)], "g", [x], [y])
    m = helper.make_model(g, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)
    return [text(v) for v in ReferenceEvaluator(m).run(None, {"x": a})[0]]


out = []
for name, kind in TensorProto.DataType.items():
    if kind == TensorProto.UNDEFINED:
        continue
    try:
        dt = helper.tensor_dtype_to_np_dtype(kind)
    except KeyError:
        continue
    a = elements(kind, dt)
    t = typed(kind, a)
    entry = {"onnx": name.lower(), "typed": model(t), "values": [text(v) for v in a]}
    try:
        assert [text(v) for v in numpy_helper.to_array(t)] == entry["values"], name
    except ValueError as err:  # the package drops the last of an odd number of packed elements
        print(name, err, file=sys.stderr)
    if kind != TensorProto.STRING:
        raw = numpy_helper.from_array(a, "w")
        assert raw.data_type == kind and [text(v) for v in numpy_helper.to_array(raw)] == entry["values"], name
        entry["raw"] = model(raw)
    if kind != TensorProto.STRING and dt.kind != "c":
        entry["to_float"] = cast(a, kind, TensorProto.FLOAT)
        source = [abs(v) for v in NUMBERS] if name.startswith(("UINT", "FLOAT8E8")) else NUMBERS
        source = [v if abs(v) < 2 else 1.0 for v in source] if name in ("INT2", "UINT2") else source
        source = [v if abs(v) < 7 else 5.0 for v in source] if name in ("INT4", "UINT4") else source
        entry["from"] = [text(v) for v in source]
        entry["from_float"] = cast(np.array(source, np.float32), TensorProto.FLOAT, kind)
    out.append(entry)
print(json.dumps(out, indent=1, ensure_ascii=True))
