"""Writes standard.json: texts of models, what the onnx package's parser makes of
each, and what its printer writes of that. Run it by hand; the test reads the
file alone.

    python standard.py > standard.json
"""
import base64
import json

from onnx import parser, printer

HEAD = '<\n  ir_version: 10,\n  opset_import: ["" : 21]\n>\n'
TEXTS = {
    "header": '<ir_version: 8, opset_import: ["" : 10, "com.acme" : 2], producer_name: "p \\"q\\" \\\\", producer_version: "1.0",\n'
    'domain: "d", model_version: 7, doc_string: "two\nlines # not a comment", metadata_props: ["k" : "v", "" : "x"]>\ng (float x) => (float x) {}',
    "comments and space": "# first\n" + HEAD + "g # name\n(float[N , 128]X,float [?,1] Y)=>(float[]Z)\n{ # nodes\n Z=Add(X,Y) # done\n}\n# last",
    "types": HEAD + "g (float a, double[] b, int64[2,N,?] c, seq(float[1]) d, map(string, seq(int64)) e, optional(seq(float[])) f,"
    ' sparse_tensor(float[3,"a b"]) h, opaque() i, opaque(nm) j, opaque(a.b.c) k, opaque(a.b, nm) l, bfloat16[0] m, uint4[3] n) => () {}',
    "value names": HEAD + 'g (float[N] "a/b:0", float[N] "é 日本", float _x9) => (float[N] "float") { "float" = Sum("a/b:0", "é 日本", _x9) }',
    "no type": HEAD + "g (x, float y) => (z) { z = Add(x, y) }",
    "initializers": HEAD + "g (float[2] x = {1.5, -2}, float y) => (float z) < float w = {1}, float[0] e = {}, int64[2,2] i = {1,-2,3,4},"
    " float[N] v, uint64[1] u = {18446744073709551615}, double[3] d = {1e300, -.5e-3, nan} > { z = Add(x, w) }".replace("-.5e-3", "-0.5e-3"),
    "elements": HEAD + "g () => () < int8[3] a = {-128, 0, 127}, uint8[2] b = {0, 255}, bool[2] c = {0, 1}, float16[2] d = {15360, 0},"
    " bfloat16[1] e = {16256}, float8e4m3fn[2] f = {56, 127}, int4[3] h = {33, 4}, complex64[1] i = {1, 2}, complex128[1] j = {1, -0.5},"
    ' string[3] k = {"a", "", "q\\"\\\\"}, uint32[1] l = {4294967295}, int16[1] m = {-1}, float[4] n = {inf, -inf, nan, -nan}, float6e2m3[2] o = {1, 63} > {}',
    "external": HEAD + 'g () => () < float[3,4] w = ["location" : "w.bin", "offset" : "16", "length" : "48"] > {}',
    "nodes": HEAD + 'g (float x) => (float y) {\n [n1] a = Relu(x)\n ["b c"] b, , c = Split(a)\n = NoOutput(a)\n d = com.acme.x.Op(,b)\n'
    ' e = F:over(d, "", c)\n f = Op(,)\n [] y = Op()\n}',
    "attributes": HEAD + 'g (float x) => (float y) {\n a = Op <i = 5, f = 2.5, s = "str", is = [1, -2], fs = [0.5, 1.0], ss = ["a", "b"],'
    ' ti : ints = [], tf : float = 3, tfs : floats = [1, 2.5], m : float = -0, big : int = -9223372036854775808> (x)\n'
    ' b = Op(x) <t : tensor = float[2] {1, 2}, u = int64 {7}, v : tensor = float[1] nm {3}, tp : type_proto = seq(float[N]), inf1 = inf, nan1 = -nan>\n'
    ' y = If (x) <then_branch = tb () => (float o) { o = Relu(x) }, else_branch : graph = eb () => (float o) <float c = {1}> { o = Add(c, x) }>\n}',
    "functions": '<ir_version: 9, opset_import: ["" : 18, "l" : 1]>\ng (float x) => (float y) { y = l.f <alpha = 2.0> (x) }\n'
    '<domain: "l", opset_import: ["" : 18], doc_string: "about f">\nf <alpha, beta : float = 0.5> (x) => (y) {\n a = Elu <alpha : float = @alpha> (x)\n y = Elu <alpha : float = @beta> (a)\n}\n'
    '<domain: "l", overload: "two", opset_import: ["" : 18]>\n"f g" (float[N] x, w) => (float y) < float[N] t > { t = Relu(x) y = Add(t, w) }',
    "numbers": HEAD + "g () => () < float[8] w = {1, 1., 1e5, 1E-5, 1.5e+3, -2, 3.4028235e38, 1e-45} > {}",
    "no header": "g (float x) => (float y) { y = Relu(x) }",
}

out = []
for name, text in TEXTS.items():
    m = parser.parse_model(text)
    out.append({"name": name, "text": text, "model": base64.b64encode(m.SerializeToString()).decode(), "printed": printer.to_text(m)})
print(json.dumps(out, indent=1))
