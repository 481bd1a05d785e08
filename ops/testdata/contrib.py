"""Writes contrib.json: cases of ONNX Runtime's own operators with what its CPU
gives for them. An operator that the CPU has no kernel for is written with the
standard's operators (via), by its documentation. Run it by hand when operators
are added; the tests read the file alone.

    python contrib.py > contrib.json
"""
import json

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from cases import names_of, record, run

MS = "com.microsoft"
F16, F32, F64, I64, I32, I16, I8, U8 = np.float16, np.float32, np.float64, np.int64, np.int32, np.int16, np.int8, np.uint8
rng = np.random.default_rng(7)
cases = []


def case(op, ins, attrs=None, outs=1, domain=MS, opset=21, via=None):
    """outs is how many, or a list that says which ones are asked for."""
    attrs = attrs or {}
    wanted = [True] * outs if isinstance(outs, int) else outs
    names = [f"o{k}" if w else "" for k, w in enumerate(wanted)]
    nodes = via or [helper.make_node(op, names_of(ins), names, domain=domain, **attrs)]
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)]
    types = {"o3": TensorProto.FLOAT} if op == "MultiHeadAttention" else {}
    values = [short(v) for v in run(nodes, ins, names, imports, types)]
    cases.append(record(op, domain, 1 if domain else opset, attrs, ins, values))


def short(v):
    """Six digits of float32: the tests ask for no more."""
    if v is None or v.dtype != F32:
        return v
    return np.array([F32("%.6g" % x) for x in v.ravel()], F32).reshape(v.shape)


def node(op, ins, out="o0", **attrs):
    return helper.make_node(op, ins.split(), [out] if isinstance(out, str) else out, **attrs)


def const(name, value):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value), name))


def arr(*s, dt=F32, scale=1.0):
    return np.round(rng.standard_normal(s) * scale, 3).astype(dt)


def ints(lo, hi, *s, dt=I64):
    return rng.integers(lo, hi, s).astype(dt)


def activations():
    for s in ((3, 5), (2, 1, 7)):
        x, b = arr(*s, scale=2), arr(s[-1])
        case("Gelu", [x])
        case("QuickGelu", [x])
        case("QuickGelu", [x], {"alpha": 0.5})
        case("FastGelu", [x])
        case("FastGelu", [x, b])
        case("BiasGelu", [x, b])
    for dt in (F32, F16):
        x, b, skip = arr(2, 3, 8, dt=dt), arr(8, dt=dt), arr(2, 3, 8, dt=dt)
        case("BiasAdd", [x, b, skip], via=[node("Add", "i0 i1", "t"), node("Add", "t i2")])
        case("BiasSplitGelu", [x, b], via=[node("Add", "i0 i1", "t"), const("n", [4, 4]), node("Split", "t n", ["l", "r"], axis=-1),
                                           node("Gelu", "r", "g"), node("Mul", "l g")])
    for axis, inner, bias in ((3, 1, (2, 1, 1, 4)), (2, 0, (1, 1, 5, 4)), (1, 1, (2, 3, 5, 4))):
        case("BiasSoftmax", [arr(2, 3, 5, 4), arr(*bias)], {"axis": axis, "is_inner_broadcast": inner},
             via=[node("Add", "i0 i1", "t"), helper.make_node("Softmax", ["t"], ["o0"], axis=axis)], opset=11)
    case("GemmFastGelu", [arr(3, 4), arr(4, 2), arr(2)], via=[node("MatMul", "i0 i1", "t"), node("Add", "t i2", "u"), node("Gelu", "u", approximate="tanh")])
    case("GemmFastGelu", [arr(2, 3, 4), arr(4, 2)], via=[node("MatMul", "i0 i1", "t"), node("Gelu", "t", approximate="tanh")])


def products():
    for ta, tb, alpha in ((0, 0, 1.0), (1, 0, 0.5), (0, 1, 2.0), (1, 1, -1.5)):
        a, b = ((5, 3) if ta else (3, 5)), ((4, 5) if tb else (5, 4))
        attrs = {"transA": ta, "transB": tb, "alpha": alpha}
        case("FusedMatMul", [arr(*a), arr(*b)], attrs)
        case("FusedMatMul", [arr(2, 1, *a), arr(3, *b)], attrs)
        case("TransposeMatMul", [arr(2, *a), arr(2, *b)], attrs)
    case("FusedMatMul", [arr(3, 5, dt=F64), arr(5, 2, dt=F64)], {"alpha": 0.25})
    case("FusedMatMul", [arr(5), arr(5, 2)])
    case("FusedMatMul", [arr(3, 2, 5), arr(2, 5, 4)], {"transBatchA": 1})
    case("FusedMatMul", [arr(5, 2, 3), arr(2, 5, 4)], {"transBatchA": 1, "transA": 1})
    case("FusedMatMul", [arr(2, 3, 5), arr(5, 2, 4)], {"transBatchB": 1, "alpha": 3.0})
    case("FusedMatMul", [arr(3, 2, 3, 5), arr(4, 2, 3, 5)], {"transBatchA": 1, "transBatchB": 1, "transB": 1})
    for act, params in (("Relu", []), ("LeakyRelu", [.3]), ("Tanh", []), ("Sigmoid", []), ("Elu", [.7]), ("HardSigmoid", [.3, .4]),
                        ("Softplus", []), ("Softsign", []), ("ThresholdedRelu", [.5]), ("Selu", [1.1, .9])):
        attrs = {"activation": act, "transB": 1, "alpha": .5, "beta": 2.0}
        names = ("activation_alpha", "activation_gamma") if act == "Selu" else ("activation_alpha", "activation_beta")
        case("FusedGemm", [arr(3, 4), arr(5, 4), arr(5)], {**attrs, **dict(zip(names, params))})
    case("FusedGemm", [arr(4, 3), arr(4, 5)], {"activation": "Relu", "transA": 1})
    for act in ("Relu", "Tanh"):
        case("FusedMatMulActivation", [arr(5, 3), arr(5, 4)], {"transA": 1, "activation": act},
             via=[node("Transpose", "i0", "t"), node("MatMul", "t i1", "u"), node(act, "u")])
    case("MatMulInteger16", [ints(-900, 900, 3, 4, dt=I16), ints(-900, 900, 4, 2, dt=I16)])
    case("MatMulInteger16", [ints(-900, 900, 2, 3, 4, dt=I16), ints(-900, 900, 4, 5, dt=I16)])
    for s in ((1, 1), (3, 3), (2, 4, 4), (2, 1, 2, 2)):
        m = arr(*s) + 3 * np.eye(s[-1], dtype=F32)
        case("Inverse", [m])
        case("Inverse", [m[..., ::-1, :].astype(F64)])
    case("Inverse", [(arr(3, 3) + 3 * np.eye(3)).astype(F16)])
    for op, sign in (("ComplexMul", 1), ("ComplexMulConj", -1)):
        for a, b in (((3, 2), (3, 2)), ((2, 3, 2), (1, 2))):
            real, imag = ("Sub", "Add") if sign == 1 else ("Add", "Sub")
            case(op, [arr(*a), arr(*b)], via=[
                const("n", [1, 1]), node("Split", "i0 n", ["ar", "ai"], axis=-1), node("Split", "i1 n", ["br", "bi"], axis=-1),
                node("Mul", "ar br", "rr"), node("Mul", "ai bi", "ii"), node("Mul", "ar bi", "ri"), node("Mul", "ai br", "ir"),
                node(real, "rr ii", "re"), node(imag, "ir ri", "im"), node("Concat", "re im", axis=-1)])
    for metric in ("sqeuclidean", "euclidean"):
        case("CDist", [arr(3, 5), arr(4, 5)], {"metric": metric})
        case("CDist", [arr(2, 3, dt=F64), arr(1, 3, dt=F64)], {"metric": metric})


def convolutions():
    x, w, b = arr(2, 4, 7, 6), arr(6, 2, 3, 3), arr(6)
    attrs = {"group": 2, "strides": [2, 1], "pads": [1, 0, 1, 2]}
    for act, params in (("Relu", None), ("LeakyRelu", [.2]), ("Clip", [-.5, .5]), ("HardSigmoid", [.3, .4]), ("Tanh", None), ("Sigmoid", None)):
        case("FusedConv", [x, w, b], {**attrs, "activation": act, **({"activation_params": params} if params else {})})
    case("FusedConv", [x, w, b, arr(2, 6, 4, 6)], {**attrs, "activation": "Relu"})
    case("FusedConv", [x, w, None, arr(2, 6, 4, 6)], {**attrs, "activation": "Relu"})
    case("FusedConv", [arr(1, 3, 9), arr(4, 3, 3)], {"activation": "Relu", "auto_pad": "SAME_UPPER"})
    case("FusedConv", [arr(1, 3, 9), arr(4, 3, 3)], {"activation": "Relu", "dilations": [2]})
    first, last = [0, 3, 1, 2], [0, 2, 3, 1]
    nchw = [node("Transpose", "i0", "x", perm=first)]
    for more in ([], [b]):
        case("NhwcConv", [x.transpose(0, 2, 3, 1), w.transpose(0, 2, 3, 1)] + more, attrs, via=nchw + [
            node("Transpose", "i1", "w", perm=first), node("Conv", "x w" + (" i2" if more else ""), "y", **attrs), node("Transpose", "y", perm=last)])
    z = arr(2, 4, 6, 6)
    case("NhwcFusedConv", [x.transpose(0, 2, 3, 1), w], {**attrs, "activation": "Tanh"}, via=nchw + [
        node("Conv", "x i1", "y", **attrs), node("Transpose", "y", "t", perm=last), node("Tanh", "t")])
    case("NhwcFusedConv", [x.transpose(0, 2, 3, 1), w, b, z], {**attrs, "activation": "Relu"}, via=nchw + [
        node("Conv", "x i1 i2", "y", **attrs), node("Transpose", "y", "t", perm=last), node("Add", "t i3", "u"), node("Relu", "u")])
    for dt in (U8, I8):
        q = ints(-100 if dt == I8 else 0, 100, 1, 7, 6, 3, dt=dt)
        case("NhwcMaxPool", [q], {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]})
        case("NhwcMaxPool", [q], {"kernel_shape": [2, 2], "dilations": [2, 1]})
    w = arr(4, 3, 3, 3)
    case("ConvTransposeWithDynamicPads", [x, w, np.array([1, 0, 1, 2])], {"strides": [2, 2]})
    case("ConvTransposeWithDynamicPads", [x, w, np.array([0, 1, 0, 1]), arr(3)], {"strides": [2, 1], "output_padding": [1, 0]})


def moves():
    for at in (0, 2, -1, -3):
        case("ExpandDims", [arr(3, 4), np.array(at, I32)])
    for upper in (0, 1):
        case("Trilu", [arr(2, 3, 4), np.array(upper)], {"upper": upper})
        case("Trilu", [ints(0, 9, 4, 3)], {"upper": upper})
    case("Unique", [np.array([3, 1, 3, 2, 1, 3], F32)], outs=3)
    case("Unique", [np.array([5], F32)], outs=3)
    case("Range", [np.array(2, F32), np.array(9, F32), np.array(2.5, F32)])
    case("Range", [np.array(3), np.array(8)])
    case("Range", [np.array(7, I32), np.array(-2, I32), np.array(-3, I32)])
    for mode in ("constant", "reflect", "edge"):
        case("Pad", [arr(3, 4), np.array([1, 0, 1, 2]), np.array([1.5], F32)], {"mode": mode})
    case("Pad", [arr(3, 4), np.array([[0, 1, 2, 0]])])
    case("GatherND", [arr(2, 3, 4), np.array([[0, 1], [1, -1]])])
    case("GatherND", [ints(0, 9, 2, 3), np.array([[[1]], [[0]]], I32)])
    for mode in ("bilinear", "nearest", "bicubic"):
        for pad in ("zeros", "border", "reflection"):
            # beyond a border, bicubic is not what the operator's text says of it
            far = 1 if (mode, pad) == ("bicubic", "border") else 1.3
            case("GridSample", [arr(1, 2, 4, 5), np.round(rng.uniform(-far, far, (1, 3, 2, 2)), 3).astype(F32)],
                 {"mode": mode, "padding_mode": pad, "align_corners": int(pad == "border")})


def norms():
    for s in ((2, 3, 8), (5, 7)):
        x, g, b = arr(*s, scale=3), arr(s[-1]), arr(s[-1])
        for o in (9, 13):
            case("LayerNormalization", [x, g, b], {"epsilon": 1e-3}, 3, domain="", opset=o)
            case("LayerNormalization", [x, g], {"axis": 1}, domain="", opset=o)
            case("SimplifiedLayerNormalization", [x, g], {"epsilon": 1e-3}, 2, domain="", opset=o)
        case("SimplifiedLayerNormalization", [x.astype(F16), g.astype(F16)], domain="")
    for dt in (F32, F16):
        x, skip, g, b, bias = arr(2, 3, 8, dt=dt), arr(2, 3, 8, dt=dt), arr(8, dt=dt), arr(8, dt=dt), arr(8, dt=dt)
        sums = [True, False, False, True]
        case("SkipLayerNormalization", [x, skip, g, b, bias], {"epsilon": 1e-5}, sums)
        case("SkipLayerNormalization", [x, skip[:1], g, b], outs=sums)
        case("SkipLayerNormalization", [x, skip[0], g, None, bias])
        case("SkipLayerNormalization", [x[0], skip[0], g])
        case("SkipSimplifiedLayerNormalization", [x, skip, g, bias], {"epsilon": 1e-5}, sums)
        case("SkipSimplifiedLayerNormalization", [x, skip[0], g])
    ids, seg = ints(0, 9, 2, 5, dt=I32), ints(0, 2, 2, 5, dt=I32)
    words, places, segs, g, b = arr(9, 6), arr(7, 6), arr(2, 6), arr(6), arr(6)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], I32)
    case("EmbedLayerNormalization", [ids, seg, words, places, segs, g, b, mask], {"epsilon": 1e-5}, 3)
    case("EmbedLayerNormalization", [ids, seg, words, places, segs, g, b], outs=2)
    case("EmbedLayerNormalization", [ids, None, words, places, None, g, b, mask], outs=2)
    case("EmbedLayerNormalization", [ids, None, words, places, None, g, b, None, ints(0, 7, 2, 5, dt=I32)], outs=[True, False, True])
    case("EmbedLayerNormalization", [ids, None, words, places, None, g, b, None, ints(0, 7, 1, 5, dt=I32)],
         {"mask_index_type": 0})
    first, last = [0, 3, 1, 2], [0, 2, 3, 1]
    x, g, b, skip = arr(2, 3, 4, 8), arr(8), arr(8), arr(2, 3, 4, 8)
    silu = [node("Sigmoid", "t", "s"), node("Mul", "t s", "u")]
    norm = {"num_groups": 4, "epsilon": 1e-4}
    attrs = {"groups": 4, "epsilon": 1e-4}
    case("GroupNorm", [x, g, b], {**attrs, "activation": 1}, via=[
        node("Transpose", "i0", "x", perm=first), node("GroupNormalization", "x i1 i2", "t", **norm), *silu, node("Transpose", "u", perm=last)])
    case("GroupNorm", [x.transpose(0, 3, 1, 2), g, b], {**attrs, "activation": 0, "channels_last": 0},
         via=[node("GroupNormalization", "i0 i1 i2", "o0", **norm)])
    for skips in (skip, skip[:, :1, :1], skip[:, 0, 0]):
        for bias in ([], [arr(8)]):
            sums = ([const("n", [1, 2]), node("Unsqueeze", "i3 n", "k")] if skips.ndim == 2 else [node("Identity", "i3", "k")])
            sums += [node("Add", "i0 k", "a"), node("Add", "a i4", "o1") if bias else node("Identity", "a", "o1")]
            case("SkipGroupNorm", [x, g, b, skips] + bias, {**attrs, "activation": 1}, 2, via=sums + [
                node("Transpose", "o1", "x", perm=first), node("GroupNormalization", "x i1 i2", "t", **norm), *silu, node("Transpose", "u", perm=last)])


def q(lo_hi, *s):
    """Quantized numbers, and a zero point."""
    dt = I8 if lo_hi == I8 else U8
    lo, hi = (-128, 128) if dt == I8 else (0, 256)
    return ints(lo, hi, *s, dt=dt), np.array(rng.integers(lo // 2, hi // 2), dt)


def scale(v):
    return np.array(v, F32)


def linear(op, in_scales, out_scale, compute, shapes, dt, attrs=None):
    """A quantized operator by the standard's: dequantize, compute, quantize."""
    ins, nodes = [], []
    for k, (s, v) in enumerate(zip(shapes, in_scales)):
        x, zero = q(dt, *s)
        ins += [x, scale(v), zero]
        nodes.append(node("DequantizeLinear", f"i{3 * k} i{3 * k + 1} i{3 * k + 2}", f"r{k}"))
    n = len(ins)
    ins += [scale(out_scale), q(dt, 1)[1]]
    case(op, ins, attrs, via=nodes + compute + [node("QuantizeLinear", f"y i{n} i{n + 1}")])


def quantized():
    for dt in (U8, I8):
        for sa, sb in (((2, 3, 4), (2, 3, 4)), ((3, 4), (4,)), ((2, 1, 3), (4, 1))):
            for op in ("QLinearAdd", "QLinearMul"):
                (a, za), (b, zb), (_, zc) = q(dt, *sa), q(dt, *sb), q(dt, 1)
                out = .07 if op == "QLinearAdd" else .6
                case(op, [a, scale(.05), za, b, scale(.03), zb, scale(out), zc])
        x, z = q(dt, 3, 5)
        case("QLinearSigmoid", [x, scale(.04), z, scale(1 / 256), np.array(0 if dt == U8 else -128, dt)])
        case("QLinearSigmoid", [x, scale(.04), None, scale(1 / 256), None])
        case("QLinearLeakyRelu", [x, scale(.04), z, scale(.05), q(dt, 1)[1]], {"alpha": .2})
        case("QLinearLeakyRelu", [x, scale(.04), z, scale(.05), q(dt, 1)[1]])
        for axis, opset in ((-1, 13), (1, 13), (1, 12)):
            x, z = q(dt, 2, 3, 4)
            case("QLinearSoftmax", [x, scale(.05), z, scale(1 / 256), np.array(0 if dt == U8 else -128, dt)], {"axis": axis, "opset": opset})
        x, z = q(dt, 2, 3, 7, 6)
        pool = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
        for attrs in (pool, {**pool, "count_include_pad": 1}, {**pool, "ceil_mode": 1}, {**pool, "channels_last": 1}):
            case("QLinearAveragePool", [x, scale(.0473), z, scale(.0371), q(dt, 1)[1]], attrs)  # no halves to round
        for last in (0, 1):
            case("QLinearGlobalAveragePool", [x, scale(.05), z, scale(.01), q(dt, 1)[1]], {"channels_last": last})
        for axes, keep in (([1], 1), ([0, -1], 0)):
            linear("QLinearReduceMean", [.05], .02, [const("axes", axes), node("ReduceMean", "r0 axes", "y", keepdims=keep)], [(2, 3, 4)], dt,
                   {"axes": axes, "keepdims": keep})
        (x, zx), (y, zy), (_, z) = q(dt, 2, 3), q(dt, 3), q(dt, 1)
        case("QLinearWhere", [rng.integers(0, 2, (2, 1)).astype(bool), x, scale(.05), zx, y, scale(.03), zy, scale(.04), z])
        case("QLinearWhere", [rng.integers(0, 2, (2, 3)).astype(bool), x, scale(.05), zx, y, scale(.05), zx, scale(.05), zx])
        parts = [q(dt, 2, n, 3) for n in (1, 3, 2)]
        ins = [scale(.05), parts[0][1]]
        for (x, z), v in zip(parts, (.05, .03, .08)):
            ins += [x, scale(v), z]
        case("QLinearConcat", ins, {"axis": 1})
        case("QLinearConcat", ins[:5], {"axis": -1})
        for last in (0, 1):
            for w_dt in ((U8, I8) if dt == U8 else (I8,)):
                (x, zx), (w, zw) = q(dt, 1, 4, 5, 6), q(w_dt, 6, 2, 3, 3)
                x = x.transpose(0, 2, 3, 1) if last else x
                attrs = {"group": 2, "strides": [2, 1], "pads": [1, 0, 1, 2], "channels_last": last}
                many = np.round(rng.uniform(.01, .03, 6), 4).astype(F32)
                case("QLinearConv", [x, scale(.05), zx, w, scale(.02), zw, scale(.3), q(dt, 1)[1]], attrs)
                case("QLinearConv", [x, scale(.05), zx, w, many, np.full(6, zw, w_dt), scale(.3), q(dt, 1)[1], ints(-900, 900, 6, dt=I32)], attrs)
    for dt, w_dt in ((U8, U8), (U8, I8), (I8, I8)):
        (a, za), (b, zb), (_, z) = q(dt, 3, 5), q(w_dt, 5, 4), q(dt, 1)
        many, zeros = np.round(rng.uniform(.01, .03, 4), 4).astype(F32), ints(-4, 4, 4, dt=I8).astype(w_dt)
        bias, f_bias = ints(-9000, 9000, 4, dt=I32), arr(4)
        case("QGemm", [a, scale(.02), za, b, scale(.01), zb, bias, scale(.1), z])
        case("QGemm", [a.T.copy(), scale(.02), za, b.T.copy(), many, zeros, bias, scale(.1), z], {"transA": 1, "transB": 1, "alpha": .5})
        case("QGemm", [a, scale(.02), za, b, many, zeros, None], {"alpha": 1.5})
        case("QGemm", [a, scale(.02), za, b, scale(.01), zb, bias])
        case("MatMulIntegerToFloat", [a, b, scale(.02), scale(.01)])
        case("MatMulIntegerToFloat", [a, b, scale(.02), scale(.01), za, zb, f_bias])
        case("MatMulIntegerToFloat", [np.stack([a, a[::-1]]), b, scale(.02), many, za, zeros, f_bias])
    for w_dt in (U8, I8):
        b, zb = q(w_dt, 5, 4)
        many, zeros = np.round(rng.uniform(.01, .03, 4), 4).astype(F32), ints(-4, 4, 4, dt=I8).astype(w_dt)
        case("DynamicQuantizeMatMul", [arr(3, 5), b, scale(.02), zb, arr(4)])
        case("DynamicQuantizeMatMul", [arr(2, 3, 5), b, many, zeros])
        case("DynamicQuantizeMatMul", [np.abs(arr(3, 5)), b, scale(.02)])
    for dt in (U8, I8, np.uint16, I16):
        info = np.iinfo(dt)
        zero = np.array(int(info.min / 2 + info.max / 2) + 3, dt)
        x = arr(3, 4, scale=3)
        case("QuantizeLinear", [x, scale(.04), zero])
        case("QuantizeLinear", [x, np.array([.02, .3, .04], F32), np.full(3, zero, dt)], {"axis": 0})
        codes = ints(info.min, info.max, 3, 4, dt=dt)
        case("DequantizeLinear", [codes, scale(.04), zero])
        case("DequantizeLinear", [codes, scale(.04)])
        case("DequantizeLinear", [codes, np.array([.02, .3, .04, .1], F32), np.full(4, zero, dt)], {"axis": 1})


def packed(codes, bits):
    """Codes along the last axis, lowest bits first, in bytes."""
    per = 8 // bits
    pad = -codes.shape[-1] % per
    codes = np.concatenate([codes, np.zeros((*codes.shape[:-1], pad), codes.dtype)], -1)
    codes = codes.reshape(*codes.shape[:-1], -1, per)
    return sum(codes[..., k].astype(np.int32) << (bits * k) for k in range(per)).astype(U8)


def blocks():
    for bits, dt in ((4, F32), (4, F16), (8, F32), (2, F32)):
        for k, n, size in ((32, 3, 32), (40, 5, 16), (70, 2, 32)):
            count = -(-k // size)
            b = packed(ints(0, 2 ** bits, n, count, size), bits)
            scales = np.round(rng.uniform(.01, .1, n * count), 3).astype(dt)
            attrs = {"K": k, "N": n, "block_size": size, "bits": bits}
            zeros = packed(ints(0, 2 ** bits, n, count), bits)
            case("MatMulNBits", [arr(3, k, dt=dt), b, scales], attrs)
            case("MatMulNBits", [arr(2, 2, k, dt=dt), b, scales, zeros.ravel()], attrs)
            if bits == 4:
                case("MatMulNBits", [arr(1, k, dt=dt), b, scales, zeros.ravel(), None, arr(n, dt=dt)], attrs)
                group = np.sort(ints(0, count, k, dt=I32))
                case("MatMulNBits", [arr(2, k, dt=dt), b, scales, None, group], attrs)
                case("MatMulNBits", [arr(2, k, dt=dt), b, scales.reshape(n, count), np.round(rng.uniform(4, 9, n * count), 2).astype(dt)], attrs)


def four_bits():
    for kind in (0, 1):
        for k, n, size in ((32, 5, 16), (40, 3, 32)):
            for s in ((3, k), (2, 1, k)):
                case("MatMulBnb4", [arr(*s), ints(0, 256, n * k // 2, dt=U8), np.abs(arr(-(-n * k // size)))],
                     {"K": k, "N": n, "block_size": size, "quant_type": kind})


def attentions():
    def fused(n, sizes, ins, attrs, outs=1, s=4, b=2, d=6):
        w = arr(d, sum(sizes), scale=.5)
        case("Attention", [arr(b, s, d), w, arr(sum(sizes))] + ins, {"num_heads": n, **attrs}, outs)

    lengths = np.array([3, 2], I32)
    for attrs in ({}, {"unidirectional": 1}):
        fused(2, (8, 8, 8), [], attrs)
        fused(2, (8, 8, 8), [lengths], attrs)
        fused(2, (8, 8, 8), [np.array([3, 4, 1, 0], I32)], attrs)
        fused(2, (8, 8, 8), [np.array([[1, 1, 1, 0], [0, 1, 1, 1]], I32)], attrs)
        fused(2, (8, 8, 8), [ints(0, 2, 2, 4, 4, dt=I32)], {**attrs, "mask_filter_value": -50.0})
        fused(2, (8, 8, 8), [None, arr(2, 2, 2, 3, 4)], attrs, 2)
        fused(2, (8, 8, 8), [np.array([[1, 1, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 0]], I32), arr(2, 2, 2, 3, 4)], attrs, 2)
        fused(2, (8, 8, 8), [None, None, arr(2, 2, 4, 4)], {**attrs, "scale": .3})
    fused(3, (6, 6, 12), [], {"qkv_hidden_sizes": [6, 6, 12]})
    fused(2, (8, 8, 8), [None, None, arr(1, 1, 4, 4)], {})
    fused(2, (8, 8, 8), [np.array([[1], [1]], I32)], {}, 2)
    case("Attention", [arr(1, 1, 5), arr(5, 12)], {"num_heads": 1})
    x, zx = q(U8, 2, 4, 6)
    for w_dt in (U8, I8):
        w, zw = q(w_dt, 6, 24)
        ins = [x, w, arr(24), scale(.02), scale(.01)]
        case("QAttention", ins, {"num_heads": 2})
        case("QAttention", ins + [lengths, zx, zw], {"num_heads": 2, "unidirectional": 1})
        many = np.round(rng.uniform(.005, .02, 24), 4).astype(F32)
        case("QAttention", ins[:4] + [many, None, zx, np.full(24, zw, w_dt), arr(2, 2, 2, 3, 4)], {"num_heads": 2}, 2)


def heads():
    b, s, t, n, h = 2, 3, 5, 2, 4
    Q, K, V = arr(b, s, n * h), arr(b, t, n * h), arr(b, t, n * h)
    at = {"num_heads": n}
    case("MultiHeadAttention", [Q, K, V], at)
    case("MultiHeadAttention", [Q, K, arr(b, t, n * 6), arr(n * (h + h + 6))], {**at, "scale": .7})
    case("MultiHeadAttention", [Q, K, V, arr(3 * n * h), np.array([4, 2], I32)], {**at, "mask_filter_value": -30.0})
    case("MultiHeadAttention", [Q, K, V, None, np.array([[1, 1, 0, 1, 1], [0, 1, 1, 1, 0]], I32), arr(1, n, s, t)], at)
    some = ints(0, 2, b, s, t, dt=I32)
    some[..., 1] = 1
    case("MultiHeadAttention", [Q, K, V, None, some, arr(b, 1, s, t)], at)
    case("MultiHeadAttention", [Q, arr(b, n, t, h), arr(b, n, t, h)], at)
    k3, v3 = K[:, :s], V[:, :s]
    past = [arr(b, n, 4, h), arr(b, n, 4, h)]
    for uni in (0, 1):
        at2 = {**at, "unidirectional": uni}
        case("MultiHeadAttention", [Q, k3, v3, None, None, None] + past, at2, 3)
        case("MultiHeadAttention", [Q, k3, v3, arr(3 * n * h), None, arr(b, n, s, 7)] + past, at2, 4)
        case("MultiHeadAttention", [Q, k3, v3, None, np.array([[1] * 7, [0, 0, 1, 1, 1, 0, 1]], I32), None] + past, at2, [True, True, True, False])
        case("MultiHeadAttention", [Q, k3, v3], at2, 3)
    five = arr(b, s, n, 3, h)
    parts = [const("one", [1, 1, 1]), node("Split", "i0 one", ["q", "k", "v"], axis=3), const("flat", [0, 0, -1])]
    parts += [node("Reshape", f"{x} flat", f"{x}f") for x in "qkv"]
    case("MultiHeadAttention", [five], at, via=parts + [helper.make_node("MultiHeadAttention", ["qf", "kf", "vf"], ["o0"], domain=MS, **at)])
    pair = arr(b, t, n, 2, h)
    parts = [const("one", [1, 1]), node("Split", "i1 one", ["k", "v"], axis=3), const("flat", [0, 0, -1])]
    parts += [node("Reshape", f"{x} flat", f"{x}f") for x in "kv"]
    case("MultiHeadAttention", [Q, pair], at, via=parts + [helper.make_node("MultiHeadAttention", ["i0", "kf", "vf"], ["o0"], domain=MS, **at)])

    one = [arr(b, 1, n * h) for _ in range(3)]
    buffer = [arr(b, n, 6, h), arr(b, n, 6, h), np.array([4], I32)]
    shared = {**at, "past_present_share_buffer": 1}
    case("DecoderMaskedMultiHeadAttention", one + [None, None] + buffer, shared, 3)
    case("DecoderMaskedMultiHeadAttention", one + [None, arr(1, n, 1, 5)] + buffer + [None, None, arr(3 * n * h)], {**shared, "scale": .4}, 3)
    case("DecoderMaskedMultiHeadAttention", [one[0], arr(b, n, t, h), arr(b, n, t, h)], at)


def rotations():
    b, s, n, h, most = 2, 3, 2, 8, 9
    for dt in (F32, F16):
        cos, sin = arr(most, h // 2, dt=dt), arr(most, h // 2, dt=dt)
        for inter in (0, 1):
            at = {"interleaved": inter}
            case("RotaryEmbedding", [arr(b, s, n * h, dt=dt), np.array([4]), cos, sin], at)
            case("RotaryEmbedding", [arr(b, s, n * h, dt=dt), ints(0, most, b, s), cos, sin], at)
            case("RotaryEmbedding", [arr(b, n, s, h, dt=dt), np.array([0]), cos, sin], {**at, "num_heads": n})
            case("RotaryEmbedding", [arr(b, s, n * h, dt=dt), ints(0, most, b, s), cos[:, :2], sin[:, :2]],
                 {**at, "num_heads": n, "rotary_embedding_dim": 4})


def group(ins, attrs, outs=3, n=2, g=1):
    case("GroupQueryAttention", ins, {"num_heads": n, "kv_num_heads": g, **attrs}, outs)


def groups():
    b, s, n, g, h = 2, 3, 2, 1, 16
    for dt in (F32, F16):
        cos, sin = arr(16, h // 2, dt=dt), arr(16, h // 2, dt=dt)
        def new(s):
            return [arr(b, s, n * h, dt=dt), arr(b, s, g * h, dt=dt), arr(b, s, g * h, dt=dt)]
        prompt = [None, None, np.array([s - 1] * b, I32), np.array([s], I32)]
        for extra in ({}, {"scale": .2}, {"softcap": 2.0}, {"smooth_softmax": 1}, {"local_window_size": 2})[:5 if dt == F32 else 1]:
            group(new(s) + prompt, extra)
        if dt == F32:
            x = [arr(b, 2, 4 * 8), arr(b, 2, 2 * 8), arr(b, 2, 2 * 8)]
            group(x + [None, None, np.array([1, 1], I32), np.array([2], I32)], {}, n=4, g=2)
        group([arr(b, s, (n + 2 * g) * h, dt=dt)] + [None, None] + prompt, {})
        for inter in (0, 1):
            rotary = {"do_rotary": 1, "rotary_interleaved": inter}
            group(new(s) + prompt + [cos, sin], rotary)
            group([arr(b, s, (n + 2 * g) * h, dt=dt)] + [None, None] + prompt + [cos, sin], rotary)
        past = [arr(b, g, 6, h, dt=dt), arr(b, g, 6, h, dt=dt)]
        token = [np.array([6, 4], I32), np.array([7], I32)]
        for extra in ({}, {"do_rotary": 1}, {"local_window_size": 3}, {"smooth_softmax": 1, "softcap": 3.0})[:4 if dt == F32 else 2]:
            group(new(1) + past + token + ([cos, sin] if "do_rotary" in extra else []), extra)
        group(new(1) + past + [np.array([3, 2], I32), np.array([4], I32)], {})
        group([x[:1] for x in new(2)] + [p[:1] for p in past] + [np.array([7], I32), np.array([8], I32)], {})
        group(new(s) + prompt + [cos, sin, ints(0, 12, b, s)], {"do_rotary": 1})
        group([x[:1] for x in new(2)] + [p[:1] for p in past] + [np.array([7], I32), np.array([8], I32), cos, sin, np.array([[3, 9]])], {"do_rotary": 1})
        group(new(s) + prompt + [None, None, None, arr(b, n, s, s, dt=dt)], {})
        group(new(s) + prompt + [None, None, None, arr(1, 1, s, s, dt=dt), arr(n, dt=dt)], {})
        group(new(1) + past + token + [None, None, None, arr(b, n, 1, 7, dt=dt)], {"local_window_size": 4})
    for kind in (1, 2):
        group(new(s) + prompt, {"qk_output": kind}, 4)


def crops():
    x = arr(2, 3, 5, 6)
    rois = np.array([[0, 0, 1, 1], [.1, .2, .7, .9], [-.2, .3, 1.1, .6], [.8, .93, .3, .1]], F32)
    images = np.array([0, 1, 1, 0], I32)
    for mode in ("bilinear", "nearest"):
        for size in ((3, 4), (1, 1), (5, 6)):
            case("CropAndResize", [x, rois, images, np.array(size, I32)], {"mode": mode, "extrapolation_value": .5})


def lookups():
    index = np.array([[2, 0], [1, 2]])
    for bits in (2, 4, 8):
        codes = ints(0, 2 ** bits, 3, 40)
        scales = np.round(rng.uniform(.01, .1, (3, 3)), 3).astype(F32)
        attrs = {"bits": bits, "block_size": 16, "quantize_axis": 1}
        case("GatherBlockQuantized", [packed(codes, bits), index, scales], attrs)
        case("GatherBlockQuantized", [packed(codes, bits), index[0], scales.astype(F16), packed(ints(0, 2 ** bits, 3, 3), bits)], attrs)
    for dt in (ml_dtypes.int4, ml_dtypes.uint4):
        codes = ints(0, 8, 3, 32).astype(I8).astype(dt)
        attrs = {"block_size": 16, "gather_axis": 1}
        case("GatherBlockQuantized", [codes, index, np.round(rng.uniform(.01, .1, (3, 2)), 3).astype(F32)], attrs, via=[
            const("d", codes), helper.make_node("GatherBlockQuantized", ["d", "i1", "i2"], ["o0"], domain=MS, **attrs)])


def declared():
    """Operators that have an inference and no kernel: the tests look at shapes."""
    for way in ("forward", "bidirectional"):
        d = 2 if way == "bidirectional" else 1
        w, r = q(U8, d, 4, 12)[0], q(U8, d, 3, 12)[0]
        flat = [np.full(d, .02, F32), np.full(d, 7, U8)]
        case("DynamicQuantizeLSTM", [arr(5, 2, 4), w, r, arr(d, 24), None, None, None, None] + flat + flat, {"hidden_size": 3, "direction": way}, 3)
    ids = ints(0, 9, 2, 5, dt=I32)
    tables = [q(U8, 9, 6)[0], q(U8, 7, 6)[0], q(U8, 2, 6)[0], q(U8, 6)[0], q(U8, 6)[0]]
    case("QEmbedLayerNormalization", [ids, ids % 2] + tables + [None] + [scale(.02)] * 5 + [np.array(9, U8)] * 5, outs=2)
    case("MoE", [arr(4, 6), arr(4, 3), arr(3, 8, 6), arr(3, 8), arr(3, 6, 8), arr(3, 6)], {"k": 2, "activation_type": "gelu"})


for family in (activations, products, convolutions, moves, norms, quantized, blocks, attentions, heads, rotations, groups, crops, lookups, four_bits, declared):
    family()
print("[")
print(",\n".join(json.dumps(c, separators=(",", ":")) for c in cases))
print("]")
