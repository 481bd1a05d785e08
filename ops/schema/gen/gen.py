#!/usr/bin/env python3
"""Writes ../schemas.gz: the operator schemas of the published onnx package, and
those of ONNX Runtime's own operators from the published onnxruntime package.

usage: gen.py            writes the file
       gen.py --check    exits with 1 when the committed file differs from what
                         the installed packages give

Facts only (names, types, counts, defaults, versions), no prose. One line per
schema, "domain TAB name TAB since TAB json"; the first line, whose domain is
"#", holds the packages' versions, the newest opset of each domain and the table
from opset to IR version. Keys of the json, left out where they say nothing:

  in, out  parameters: n name, t type, o option, het not homogeneous, min arity
  c        least and most inputs, least and most outputs
  types    type parameter and the types it may stand for
  attrs    n name, k kind (AttributeProto.AttributeType), r required, d default
  fn, ctx  opsets of the function bodies; whether a body depends on the node
  det      the package's node_determinism, unless Deterministic
  rnd      the operator itself draws random numbers (see draws)
  dep, exp deprecated, experimental
  own      one of ONNX Runtime's own, which the standard does not define

Needs onnx 1.23 and onnxruntime 1.32 or later; nothing else in the project needs
Python.
"""
import gzip, io, json, pathlib, sys

import onnx
import onnxruntime
from onnx import defs, helper
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

OUT = pathlib.Path(__file__).resolve().parent.parent / "schemas.gz"
DOMAINS = ["", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"]
OPTIONS = {"Single": 0, "Optional": 1, "Variadic": 2}
UNBOUNDED = 2**31 - 1
LEVELS = {"COMMON", "EXPERIMENTAL"}
GRAPH = defs.OpSchema.AttrType.GRAPH

# What the package leaves undeclared (Unknown) and draws nothing. A new operator
# that it leaves undeclared stops this script until someone has looked.
DRAWS_NOTHING = {"LinearAttention", "CausalConvWithState", "DepthToSpace", "SpaceToDepth"}

# ONNX Runtime's own operators: a domain of their own, and two that it has in the
# standard's, which its optimizer writes. The package declares nothing of their
# determinism; these draw.
RUNTIME_DOMAIN = "com.microsoft"
RUNTIME_STANDARD = {("SimplifiedLayerNormalization", 1), ("LayerNormalization", 1)}
RUNTIME_DRAWS = {"BiasDropout", "BitmaskBiasDropout", "BitmaskDropout", "SampleOp", "Sampling"}


def formal(p):
    return param(p.name, p.type_str, p.option.name, p.is_homogeneous, p.min_arity)


def param(name, typ, option, homogeneous, min_arity):
    out = {"n": name, "t": typ}
    option = OPTIONS[option]
    if option:
        out["o"] = option
    if not homogeneous:
        out["het"] = 1
    if option == 2:
        out["min"] = min_arity
    return out


def default(v):
    if v is None or v.type == 0:
        return None
    x = helper.get_attribute_value(v)
    if isinstance(x, bytes):
        return x.decode()
    if isinstance(x, (list, tuple)) or hasattr(x, "__iter__") and not isinstance(x, str):
        return [y.decode() if isinstance(y, bytes) else y for y in x]
    return x


def attribute(a, value):
    out = {"n": a.name, "k": int(a.type.value)}
    if a.required:
        out["r"] = 1
    d = default(value)
    if d is not None:
        out["d"] = d
    return out


def draws(s):
    """Whether the operator itself draws random numbers. The package also calls
    operators with bodies non-deterministic, and those whose function has an If;
    they are as their bodies are."""
    d = s.node_determinism.name
    if d == "Deterministic" or any(a.type == GRAPH for a in s.attributes.values()):
        return False
    if s.has_function:
        versions = {o.domain: o.version for o in s.function_body.opset_import}
        return any_draws(s.function_body.node, versions)
    if d == "Unknown":
        if s.name not in DRAWS_NOTHING:
            sys.exit(f"gen.py: {s.name}-{s.since_version}: determinism is Unknown, want a decision in DRAWS_NOTHING")
        return False
    return True


def any_draws(nodes, versions):
    for n in nodes:
        if draws(defs.get_schema(n.op_type, versions[n.domain], n.domain)):
            return True
        if any(any_draws(a.g.node, versions) for a in n.attribute if a.HasField("g")):
            return True
    return False


def schema(s):
    out = {
        "in": [formal(p) for p in s.inputs],
        "out": [formal(p) for p in s.outputs],
        "c": [s.min_input, min(s.max_input, UNBOUNDED), s.min_output, min(s.max_output, UNBOUNDED)],
        "types": [[c.type_param_str, sorted(c.allowed_type_strs)] for c in s.type_constraints],
        "attrs": [attribute(s.attributes[k], s.attributes[k].default_value) for k in sorted(s.attributes)],
    }
    if s.deprecated:
        out["dep"] = 1
    if s.has_function or s.has_context_dependent_function:
        out["fn"] = sorted(set(s.function_opset_versions) | set(s.context_dependent_function_opset_versions))
    if s.has_context_dependent_function:
        out["ctx"] = 1
    if s.support_level.name not in LEVELS:
        sys.exit(f"gen.py: {s.name}: got support level {s.support_level.name}, want one of {sorted(LEVELS)}")
    if s.support_level.name == "EXPERIMENTAL":
        out["exp"] = 1
    d = s.node_determinism.name
    if d != "Deterministic":
        out["det"] = d
    if draws(s):
        out["rnd"] = 1
    return out


def runtime_formals(ps, least):
    return [param(p.name, p.typeStr, p.option.name, p.isHomogeneous, least - len(ps) + 1) for p in ps]


def runtime_default(a):
    v = onnx.AttributeProto()
    v.ParseFromString(a._default_value)
    return v


def runtime_schema(s):
    out = {
        "in": runtime_formals(s.inputs, s.min_input),
        "out": runtime_formals(s.outputs, s.min_output),
        "c": [s.min_input, min(s.max_input, UNBOUNDED), s.min_output, min(s.max_output, UNBOUNDED)],
        "types": [[c.type_param_str, sorted(c.allowed_type_strs)] for c in s.type_constraints],
        "attrs": [attribute(s.attributes[k], runtime_default(s.attributes[k])) for k in sorted(s.attributes)],
        "det": "Unknown",
        "own": 1,
    }
    if s.deprecated:
        out["dep"] = 1
    if s.name in RUNTIME_DRAWS:
        out["rnd"] = 1
    return out


def runtime_schemas():
    for s in get_all_operator_schema():
        if s.domain == RUNTIME_DOMAIN or s.domain == "" and (s.name, s.since_version) in RUNTIME_STANDARD:
            yield s


def text():
    schemas = [s for s in defs.get_all_schemas_with_history() if s.domain in DOMAINS]
    newest = {}
    for s in schemas:
        newest[s.domain] = max(newest.get(s.domain, 0), s.since_version)
    newest[""] = defs.onnx_opset_version()
    ir = {}
    for row in helper.VERSION_TABLE:
        version, ir_version, opset = row[0], row[1], row[2]
        ir[opset] = min(ir.get(opset, ir_version), ir_version)
    own = list(runtime_schemas())
    newest[RUNTIME_DOMAIN] = max(s.since_version for s in own)
    head = {"package": onnx.__version__, "runtime": onnxruntime.__version__, "newest": newest, "ir": sorted(ir.items())}
    lines = ["#\t\t0\t" + json.dumps(head, separators=(",", ":"), sort_keys=True)]
    rows = [(s, schema(s)) for s in schemas] + [(s, runtime_schema(s)) for s in own]
    for s, facts in sorted(rows, key=lambda r: (r[0].domain, r[0].name, r[0].since_version)):
        lines.append(f"{s.domain}\t{s.name}\t{s.since_version}\t" + json.dumps(facts, separators=(",", ":")))
    return "\n".join(lines) + "\n"


def packed(data):
    buf = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buf, mtime=0) as f:
        f.write(data.encode())
    return buf.getvalue()


def at_least(package, want):
    got = package.__version__
    if tuple(int(x) for x in got.split(".")[:2]) < want:
        sys.exit(f"gen.py: got {package.__name__} {got}, want {want[0]}.{want[1]} or later")


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    at_least(onnx, (1, 23))
    at_least(onnxruntime, (1, 32))
    new = text()
    of = f"onnx {onnx.__version__} and onnxruntime {onnxruntime.__version__}"
    if "--check" in sys.argv:
        old = gzip.decompress(OUT.read_bytes()).decode()
        if old == new:
            print(f"schemas.gz is what {of} say")
            return 0
        was = json.loads(old.split("\n", 1)[0].split("\t")[3])
        a, b = set(old.splitlines()), set(new.splitlines())
        print(f"schemas.gz, of onnx {was['package']} and onnxruntime {was.get('runtime')}, differs from {of}: "
              f"{len(a - b)} lines gone or changed, {len(b - a)} new or changed")
        return 1
    OUT.write_bytes(packed(new))
    print(f"{OUT.name}: {new.count(chr(10)) - 1} schemas of {of}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
