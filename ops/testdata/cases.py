"""What the generators of oracle.json and contrib.json share: a case is one node,
its inputs, and what ONNX Runtime's CPU gives for it."""
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper


def pack(a):
    if a is None:
        return None
    vals = []
    for x in a.ravel().tolist():
        if isinstance(x, float) and not np.isfinite(x):
            x = {"nan": "NaN", "inf": "Inf", "-inf": "-Inf"}[str(x)]
        elif isinstance(x, float) and a.dtype == np.float32:
            x = float(str(np.float32(x)))
        vals.append(x)
    return {"t": "string" if a.dtype.kind in "OU" else str(a.dtype), "s": list(a.shape), "v": vals}


def typed(v):
    if isinstance(v, str):
        return {"s": v}
    if isinstance(v, int):
        return {"i": v}
    if isinstance(v, float):
        return {"f": "NaN" if v != v else v}
    kind = "is" if isinstance(v[0], int) else "fs" if isinstance(v[0], float) else "ss"
    return {kind: ["NaN" if isinstance(x, float) and x != x else x for x in v]}


def elem(a):
    return TensorProto.STRING if a.dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(a.dtype)


def names_of(ins):
    return ["" if x is None else f"i{k}" for k, x in enumerate(ins)]


def run(nodes, ins, outs, imports, types={}):
    """The values of the outputs that have a name; types of those that do not follow
    from the inputs'."""
    read = {i for n in nodes for i in n.input}
    names = [n if n in read else "" for n in names_of(ins)]
    infos = [helper.make_tensor_value_info(n, elem(x), x.shape) for n, x in zip(names, ins) if n]
    graph = helper.make_graph(nodes, "g", infos, 
                              [helper.make_tensor_value_info(o, types[o], None) if o in types else onnx.ValueInfoProto(name=o) for o in outs if o])
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    values = iter(session.run(None, {n: x for n, x in zip(names, ins) if n}))
    return [np.asarray(next(values)) if o else None for o in outs]


def record(op, domain, version, attrs, ins, outs):
    return {"op": op, "domain": domain, "opset": version, "attrs": {k: typed(v) for k, v in attrs.items()},
            "in": [pack(x) for x in ins], "out": [pack(o) for o in outs]}
