"""Writes oracle.json: small cases of single operators, with what ONNX Runtime
and NumPy-made inputs give. Run it by hand when operators are added; the tests
read the file alone.

    python oracle.py > oracle.json
"""
import json

import numpy as np
from onnx import helper

from cases import names_of, record, run

rng = np.random.default_rng(20)
F32, F64, I64, I32 = np.float32, np.float64, np.int64, np.int32
ML = "ai.onnx.ml"
KEEP = 3  # cases of each operator
cases, kept = [], {}


def case(op, ins, attrs=None, nout=1, opset=21, domain="", version=3):
    attrs = attrs or {}
    if kept.get(op, 0) >= KEEP:
        return
    outs = [f"o{k}" for k in range(nout)]
    node = helper.make_node(op, names_of(ins), outs, domain=domain, **attrs)
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, version)] if domain else [])
    try:
        values = run([node], ins, outs, imports)
    except Exception:  # a type or a size that this runtime does not take
        return
    kept[op] = kept.get(op, 0) + 1
    cases.append(record(op, domain, version if domain else opset, attrs, ins, values))


def shape(lo=1, hi=3):
    return tuple(int(x) for x in rng.integers(1, 4, rng.integers(lo, hi + 1)))


def arr(s, dt=F32):
    if dt == np.bool_:
        return rng.integers(0, 2, s).astype(bool)
    if np.dtype(dt).kind == "f":
        return np.round(rng.standard_normal(s), 3).astype(dt)
    return rng.integers(-5, 9, s).astype(dt)


def pick(*choices):
    return choices[int(rng.integers(len(choices)))]


def floats(a):
    return [round(float(v), 3) for v in np.ravel(a)]


def moves():
    s = shape(2, 4)
    r = len(s)
    ax = int(rng.integers(-r, r))
    case("Transpose", [arr(s, pick(F32, I64, np.bool_))], {"perm": [int(x) for x in rng.permutation(r)]})
    case("Concat", [arr(s), arr(s)], {"axis": ax})
    case("Split", [arr(s)], {"axis": ax, "num_outputs": 1})
    case("Split", [arr((5, 2)), np.array([1, 4])], {"axis": 0}, nout=2)
    case("Expand", [arr(tuple(d if rng.random() < .5 else 1 for d in s)), np.array((2,) + s)])
    case("Tile", [arr(s, pick(F32, I64)), rng.integers(0, 3, r)])
    case("Slice", [arr(s), np.array([pick(0, 1, -1, 2**60)]), np.array([pick(0, 2, -1, -2**60, 2**60)]), np.array([ax]),
                   np.array([pick(-2, -1, 1, 2)])])
    case("Pad", [arr((3, 4)), rng.integers(0, 2, 4)], {"mode": pick("reflect", "wrap", "edge")})
    case("Pad", [arr((3, 4)), rng.integers(-1, 3, 2), np.array(1.5, F32), np.array([ax % 2])], {"mode": "constant"})
    case("Trilu", [arr((2, 3, 4), pick(F32, I64)), np.array(int(rng.integers(-2, 3)))], {"upper": pick(0, 1)})
    case("ReverseSequence", [arr((3, 2, 2)), rng.integers(1, 4, 2)], {"batch_axis": 1, "time_axis": 0})
    case("Compress", [arr(s), arr((s[ax],), np.bool_)], {"axis": ax})
    case("CenterCropPad", [arr((3, 4)), rng.integers(1, 7, 2)])
    case("Gather", [arr(s), rng.integers(-s[ax], s[ax], shape(0, 2))], {"axis": ax})
    idx = tuple(2 if i == ax % r else d for i, d in enumerate(s))
    case("GatherElements", [arr(s), rng.integers(-s[ax], s[ax], idx)], {"axis": ax})
    case("ScatterElements", [arr(s), rng.integers(-s[ax], s[ax], idx), arr(idx)], {"axis": ax, "reduction": pick("add", "mul", "max", "min")},
         opset=18)
    case("ScatterElements", [arr((2, 3)), np.array([[1, -1]]), arr((1, 2))], {"axis": 1}, opset=18)
    case("GatherND", [arr((2, 3, 2)), np.stack([rng.integers(-3, 3, (2, 2))], -1)], {"batch_dims": 1})
    case("ScatterND", [arr((4, 2)), rng.integers(-4, 4, (3, 1)), arr((3, 2))], {"reduction": pick("add", "mul", "max", "min")}, opset=18)
    case("OneHot", [rng.integers(-4, 4, (2, 2)), np.array(3), np.array([5, 9], F32)], {"axis": pick(-1, 0, 1)})
    case("DepthToSpace", [arr((1, 8, 1, 2))], {"blocksize": 2, "mode": pick("DCR", "CRD")})
    case("SpaceToDepth", [arr((1, 2, 2, 4))], {"blocksize": 2})


def orders():
    x = rng.integers(0, 4, (2, 5)).astype(pick(F32, I64))
    case("TopK", [x, np.array([3])], {"axis": pick(0, 1) * 0 + 1, "largest": pick(0, 1), "sorted": 1}, nout=2)
    case("Unique", [x], {"axis": 1, "sorted": pick(0, 1)}, nout=4)
    case("NonZero", [x])
    case("NonMaxSuppression", [np.round(rng.random((1, 6, 4)), 3).astype(F32), np.round(rng.random((1, 2, 6)), 3).astype(F32), np.array([3]),
                               np.array([.3], F32), np.array([.2], F32)], {"center_point_box": pick(0, 1)})


def signals():
    case("DFT", [arr((1, 6, 1), F64)], {"axis": 1, "onesided": pick(0, 1)}, opset=17)
    case("STFT", [arr((1, 12, 1), F64), np.array(3), np.abs(arr((5,), F64)), np.array(5)], {"onesided": pick(0, 1)}, opset=17)
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        case(op, [np.array(int(rng.integers(3, 8)))], {"periodic": pick(0, 1)}, opset=17)
    case("MelWeightMatrix", [np.array(4), np.array(16), np.array(8192), np.array(0, F32), np.array(4096, F32)], opset=17)


def texts():
    words = np.array(["ab cd", " x  y z", "", "a,b,,c"], object)
    case("StringConcat", [words, np.array(["!"], object)])
    case("StringSplit", [words[[0, 1, 3]]], {"delimiter": pick("", ","), "maxsplit": pick(1, 2)}, nout=2)
    case("RegexFullMatch", [words], {"pattern": "[a-z ]+"})
    case("StringNormalizer", [np.array(["Monday", "tuesday", "WED"], object)], {"case_change_action": pick("LOWER", "UPPER"), "is_case_sensitive": 0,
                                                                               "stopwords": ["monday"]})
    case("TfIdfVectorizer", [rng.integers(1, 5, (2, 6)).astype(I32)], {
        "mode": pick("TF", "IDF", "TFIDF"), "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": pick(0, 2), "ngram_counts": [0, 3],
        "ngram_indexes": [0, 1, 2, 3, 4], "pool_int64s": [1, 2, 3, 1, 2, 3, 4], "weights": [1., 2., .5, 3., 4.]})


def recurrent():
    for op, g in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        way = pick("forward", "reverse", "bidirectional")
        d, h = (2 if way == "bidirectional" else 1), 2
        ins = [arr((3, 2, 2)), arr((d, g * h, 2)), arr((d, g * h, h)), arr((d, 2 * g * h)), np.array([3, 2], I32), arr((d, 2, h))]
        attrs = {"hidden_size": h, "direction": way, "clip": 1.5}
        if op == "GRU":
            attrs["linear_before_reset"] = pick(0, 1)
        if op == "LSTM":
            ins += [arr((d, 2, h)), arr((d, 3 * h))]
            attrs["input_forget"] = pick(0, 1)
            attrs["activations"] = ["HardSigmoid", "Tanh", "LeakyRelu"] * d
            attrs["activation_alpha"], attrs["activation_beta"] = [.3, .05] * d, [.4] * d
        case(op, ins, attrs, nout=3 if op == "LSTM" else 2)


def forest(k):
    """Two trees of depth one and two, with k weights at each leaf."""
    t = {"nodes_treeids": [0, 0, 0, 1, 1, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 0, 1, 2, 3, 4], "nodes_featureids": [0, 0, 0, 1, 0, 2, 0, 0],
         "nodes_modes": [pick("BRANCH_LEQ", "BRANCH_LT"), "LEAF", "LEAF", pick("BRANCH_GT", "BRANCH_GTE"), "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
         "nodes_values": floats(rng.standard_normal(8)), "nodes_truenodeids": [1, 0, 0, 1, 0, 3, 0, 0], "nodes_falsenodeids": [2, 0, 0, 2, 0, 4, 0, 0],
         "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 1, 0, 0]}
    leaves = [(0, 1), (0, 2), (1, 1), (1, 3), (1, 4)]
    return t, [leaf for leaf in leaves for _ in range(k)], list(range(k)) * len(leaves)


def learned():
    n, f = 3, 3
    x = arr((n, f))
    holes = x.copy()
    holes[0, 1] = np.nan
    words = np.array(["a", "b", "c", "zz"], object)[rng.integers(0, 4, (2, 2))]
    case("Binarizer", [x], {"threshold": .3}, domain=ML)
    case("Scaler", [x], {"offset": floats(rng.random(f)), "scale": floats(rng.random(f))}, domain=ML)
    case("Normalizer", [x], {"norm": pick("MAX", "L1", "L2")}, domain=ML)
    case("Imputer", [holes], {"imputed_value_floats": floats(rng.random(f)), "replaced_value_float": float("nan")}, domain=ML)
    case("ArrayFeatureExtractor", [x, rng.integers(0, f, 2)], domain=ML)
    case("FeatureVectorizer", [x, x], {"inputdimensions": [2, f]}, domain=ML)
    case("LabelEncoder", [words], {"keys_strings": ["a", "b", "zz"], "values_int64s": [5, 6, 7]}, domain=ML)
    case("CategoryMapper", [words], {"cats_strings": ["a", "b", "c"], "cats_int64s": [3, 4, 5], "default_int64": -9}, domain=ML)
    case("OneHotEncoder", [words], {"cats_strings": ["a", "b", "c"], "zeros": 1}, domain=ML)
    after = pick("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")
    case("LinearRegressor", [x], {"coefficients": floats(arr((2, f))), "intercepts": [.1, -.2], "targets": 2, "post_transform": after}, domain=ML)
    case("LinearClassifier", [x], {"coefficients": floats(arr((3, f))), "intercepts": [.1, -.2, 0.], "post_transform": after,
                                   "classlabels_strings": ["u", "v", "w"]}, nout=2, domain=ML)
    t, leaves, ids = forest(2)
    at = {"treeids": [a for a, _ in leaves], "nodeids": [b for _, b in leaves], "ids": ids, "weights": floats(rng.standard_normal(len(ids)))}
    case("TreeEnsembleRegressor", [holes], {**t, **{"target_" + k: v for k, v in at.items()}, "n_targets": 2, "base_values": [.5, .25],
                                            "aggregate_function": pick("SUM", "AVERAGE", "MIN", "MAX"), "post_transform": after}, domain=ML)
    t, leaves, ids = forest(1)
    at = {"treeids": [a for a, _ in leaves], "nodeids": [b for _, b in leaves], "ids": ids, "weights": floats(rng.standard_normal(len(ids)))}
    case("TreeEnsembleClassifier", [holes], {**t, **{"class_" + k: v for k, v in at.items()}, "classlabels_int64s": [4, 7],
                                             "post_transform": pick("NONE", "LOGISTIC")}, nout=2, domain=ML)
    kernel = {"kernel_type": pick("LINEAR", "POLY", "RBF", "SIGMOID"), "kernel_params": [.4, .2, 2.]}
    case("SVMRegressor", [x], {**kernel, "n_supports": 2, "support_vectors": floats(arr((2, f))), "coefficients": [.5, -1.], "rho": [.3]}, domain=ML)
    case("SVMClassifier", [x], {**kernel, "vectors_per_class": [1, 2, 1], "support_vectors": floats(arr((4, f))),
                                "coefficients": floats(arr((2, 4))), "rho": [.1, .2, -.1], "prob_a": [-1., -.7, -.5], "prob_b": [.1, .2, .3],
                                "classlabels_ints": [4, 7, 9]}, nout=2, domain=ML)


for _ in range(20):
    for family in (moves, orders, signals, texts, recurrent, learned):
        family()
for p, shape in ((1, (2, 3, 5)), (2, (1, 2, 3, 4)), (3, (2, 1, 2, 2, 3))):
    case("GlobalLpPool", [arr(shape)], {"p": p})
for scale, regions in ((1.0, [[0, 0, 0, 3, 3], [1, 1, 2, 5, 4]]), (0.5, [[1, 2, 1, 9, 8], [0, 5, 5, 4, 4]]), (1.0, [[0, 4, 4, 20, 20]])):
    case("MaxRoiPool", [arr((2, 3, 6, 7)), np.array(regions, F32)], {"pooled_shape": [2, 3], "spatial_scale": scale})
print("[")
print(",\n".join(json.dumps(c, separators=(",", ":")) for c in cases))
print("]")
