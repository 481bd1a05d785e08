"""Writes nn_data.star: inputs of each builder of nn.star with what NumPy makes of
them, in float64. Run it when a builder changes; the tests read its output alone.

    python scripts/std/nn_data.py
"""

import math
import os

import numpy as np

rng = np.random.default_rng(7)
cases = {}


def rand(*shape):
    return rng.normal(size=shape).astype(np.float32)


def case(name, inputs, out):
    cases[name] = (inputs, out)


erf = np.vectorize(math.erf)
sig = lambda x: 1 / (1 + np.exp(-x))
soft = lambda x, axis=-1: np.exp(x - x.max(axis, keepdims=True)) / np.exp(x - x.max(axis, keepdims=True)).sum(axis, keepdims=True)
gelu = lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2)))
f = lambda a: a.astype(np.float64)

x = rand(2, 6) * 3
ACT = {
    "relu": lambda x: np.maximum(x, 0), "relu6": lambda x: np.clip(x, 0, 6), "leaky_relu": lambda x: np.where(x < 0, 0.01 * x, x),
    "elu": lambda x: np.where(x < 0, np.expm1(x), x), "sigmoid": sig, "tanh": np.tanh, "silu": lambda x: x * sig(x),
    "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1), "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "softplus": lambda x: np.log1p(np.exp(x)), "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))), "gelu": gelu,
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "quick_gelu": lambda x: x * sig(1.702 * x), "softmax": soft, "log_softmax": lambda x: np.log(soft(x)),
    "glu": lambda x: x[:, :3] * sig(x[:, 3:]), "flatten": lambda x: x.reshape(2, -1),
    "l2_normalize": lambda x: x / np.sqrt((x**2).sum(-1, keepdims=True)),
}
for name, fn in ACT.items():
    case(name, {"x": x}, fn(f(x)))


def conv(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    x, w = f(x), f(w)
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    kh, kw = (w.shape[2] - 1) * dilation + 1, (w.shape[3] - 1) * dilation + 1
    oh, ow = (x.shape[2] - kh) // stride + 1, (x.shape[3] - kw) // stride + 1
    per, outs = x.shape[1] // groups, w.shape[0] // groups
    y = np.zeros((x.shape[0], w.shape[0], oh, ow))
    for o in range(w.shape[0]):
        g = o // outs
        for i in range(oh):
            for j in range(ow):
                part = x[:, g * per:(g + 1) * per, i * stride:i * stride + kh:dilation, j * stride:j * stride + kw:dilation]
                y[:, o, i, j] = (part * w[o]).sum((1, 2, 3))
    return y if b is None else y + f(b).reshape(1, -1, 1, 1)


def conv_transpose(x, w, b, stride, padding):
    x, w = f(x), f(w)
    k = w.shape[2]
    y = np.zeros((x.shape[0], w.shape[1], (x.shape[2] - 1) * stride + k, (x.shape[3] - 1) * stride + k))
    for i in range(x.shape[2]):
        for j in range(x.shape[3]):
            y[:, :, i * stride:i * stride + k, j * stride:j * stride + k] += np.einsum("nc,cokl->nokl", x[:, :, i, j], w)
    return y[:, :, padding:y.shape[2] - padding, padding:y.shape[3] - padding] + f(b).reshape(1, -1, 1, 1)


def bn(y, s, b, m, v):
    r = lambda a: f(a).reshape(1, -1, 1, 1)
    return (y - r(m)) / np.sqrt(r(v) + 1e-5) * r(s) + r(b)


def pool(x, k, stride, padding, fn, fill):
    x = np.pad(f(x), [(0, 0), (0, 0), (padding, padding), (padding, padding)], constant_values=fill)
    oh, ow = (x.shape[2] - k) // stride + 1, (x.shape[3] - k) // stride + 1
    return np.stack([np.stack([fn(x[:, :, i * stride:i * stride + k, j * stride:j * stride + k], (2, 3)) for j in range(ow)], -1) for i in range(oh)], -2)


def attention(q, k, v, mask=0):
    return soft(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]) + mask) @ v


img, w, b = rand(1, 4, 5, 5), rand(6, 4, 3, 3), rand(6)
case("conv", {"x": img, "weight": w, "bias": b}, conv(img, w, b, 2, 1))
wg = rand(6, 2, 2, 2)
case("conv_groups", {"x": img, "weight": wg}, conv(img, wg, None, 1, 0, 2, 2))
wd = rand(4, 1, 3, 3)
case("depthwise_conv", {"x": img, "weight": wd}, conv(img, wd, None, 1, 1, 1, 4))
wt = rand(4, 3, 3, 3)
bt = rand(3)
case("conv_transpose", {"x": img, "weight": wt, "bias": bt}, conv_transpose(img, wt, bt, 2, 1))
case("conv_relu", {"x": img, "weight": w, "bias": b}, np.maximum(conv(img, w, b, 1, 1), 0))
s6, b6, m6, v6 = rand(6), rand(6), rand(6), np.abs(rand(6)) + 0.5
case("conv_bn_relu", {"x": img, "weight": w, "scale": s6, "bias": b6, "mean": m6, "variance": v6}, np.maximum(bn(conv(img, w, None, 1, 1), s6, b6, m6, v6), 0))
s4, b4, m4, v4 = rand(4), rand(4), rand(4), np.abs(rand(4)) + 0.5
case("batch_norm", {"x": img, "scale": s4, "bias": b4, "mean": m4, "variance": v4}, bn(f(img), s4, b4, m4, v4))


def norm(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


chan = lambda a: f(a).reshape(1, -1, 1, 1)
case("instance_norm", {"x": img, "scale": s4, "bias": b4}, norm(f(img), (2, 3)) * chan(s4) + chan(b4))
case("group_norm", {"x": img, "scale": s4, "bias": b4}, norm(f(img).reshape(1, 2, -1), 2).reshape(img.shape) * chan(s4) + chan(b4))
seq, s8, b8 = rand(2, 3, 8), rand(8), rand(8)
case("layer_norm", {"x": seq, "scale": s8, "bias": b8}, norm(f(seq), 2) * f(s8) + f(b8))
case("rms_norm", {"x": seq, "scale": s8}, f(seq) / np.sqrt((f(seq)**2).mean(-1, keepdims=True) + 1e-6) * f(s8))
case("max_pool", {"x": img}, pool(img, 3, 2, 1, np.max, -np.inf))
case("avg_pool", {"x": img}, pool(img, 2, 2, 0, np.mean, 0))
case("global_avg_pool", {"x": img}, f(img).mean((2, 3)))
mask = np.array([[1, 1, 0], [1, 0, 0]], np.float32)
case("mean_pool", {"x": seq, "mask": mask}, (f(seq) * mask[..., None]).sum(1) / mask.sum(1, keepdims=True))
case("upsample", {"x": img}, f(img).repeat(2, 2).repeat(2, 3))
case("pixel_shuffle", {"x": img}, f(img).reshape(1, 1, 2, 2, 5, 5).transpose(0, 1, 4, 2, 5, 3).reshape(1, 1, 10, 10))
case("channel_shuffle", {"x": img}, f(img).reshape(1, 2, 2, 5, 5).transpose(0, 2, 1, 3, 4).reshape(img.shape))
wl, bl = rand(5, 8), rand(5)
case("linear", {"x": seq, "weight": wl, "bias": bl}, f(seq) @ f(wl).T + f(bl))
w1, b1, w2, b2 = rand(10, 8), rand(10), rand(8, 10), rand(8)
case("mlp", {"x": seq, "w1": w1, "b1": b1, "w2": w2, "b2": b2}, gelu(f(seq) @ f(w1).T + f(b1)) @ f(w2).T + f(b2))
case("swiglu", {"x": seq, "gate": w1, "value": w1[::-1].copy()}, (lambda a, v: a * sig(a) * v)(f(seq) @ f(w1).T, f(seq) @ f(w1[::-1]).T))
case("residual", {"x": seq}, f(seq) + np.tanh(f(seq)))
e1, c1, e2, c2 = rand(2, 4), rand(2), rand(4, 2), rand(4)
case("squeeze_excite", {"x": img, "w1": e1, "b1": c1, "w2": e2, "b2": c2},
     f(img) * sig(np.maximum(f(img).mean((2, 3)) @ f(e1).T + f(c1), 0) @ f(e2).T + f(c2))[:, :, None, None])
table = rand(7, 4)
case("embedding", {"ids": np.array([[1, 6, 0]], np.int64), "table": table}, f(table)[[[1, 6, 0]]])
q, k, v = rand(1, 2, 3, 4), rand(1, 2, 3, 4), rand(1, 2, 3, 4)
case("attention", {"q": q, "k": k, "v": v}, attention(f(q), f(k), f(v)))
causal = np.triu(np.full((3, 3), -np.inf), 1)
case("attention_masked", {"q": q, "k": k, "v": v}, attention(f(q), f(k), f(v), causal))
ws = [rand(8, 8) for _ in range(4)]
split = lambda x: x.reshape(2, 3, 2, 4).transpose(0, 2, 1, 3)
merge = lambda x: x.transpose(0, 2, 1, 3).reshape(2, 3, 8)
case("multi_head_attention", {"x": seq, "wq": ws[0], "wk": ws[1], "wv": ws[2], "wo": ws[3]},
     merge(attention(*[split(f(seq) @ f(w).T) for w in ws[:3]], causal)) @ f(ws[3]).T)
case("split_heads", {"x": seq}, split(f(seq)))
case("merge_heads", {"x": q}, f(q).transpose(0, 2, 1, 3).reshape(1, 3, 8))
angle = rand(3, 2)
cos, sin = np.cos(np.tile(angle, 2)).astype(np.float32), np.sin(np.tile(angle, 2)).astype(np.float32)
case("rotary", {"x": q, "cos": cos, "sin": sin}, f(q) * f(cos) + np.concatenate([-f(q)[..., 2:], f(q)[..., :2]], -1) * f(sin))


def text(a):
    flat = ", ".join(repr(round(float(v), 7)) if a.dtype.kind == "f" else repr(int(v)) for v in a.ravel())
    return f"_({list(a.shape)}, [{flat}], \"{'float32' if a.dtype.kind == 'f' else 'int64'}\")"


def main():
    lines = ['"""What NumPy makes of the inputs of each builder of nn.star; written by nn_data.py."""', "",
             "def _(shape, values, dtype):", "    return np.array(values, dtype).reshape(shape)", "", "cases = {"]
    for name, (inputs, out) in sorted(cases.items()):
        lines.append(f'    "{name}": {{')
        for key, a in sorted({**inputs, "out": out}.items()):
            lines.append(f'        "{key}": {text(np.asarray(a))},')
        lines.append("    },")
    lines += ["}", ""]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "nn_data.star"), "w") as file:
        file.write("\n".join(lines))


main()
