"""Numbers for networks_test.go: what PyTorch does with the networks in a step of gradient descent, in float64.

Run with torch 2.15.0 and NumPy; writes networks.json beside itself. Start and images come from formulas, which the test has too: number j of
parameter l is sin(0.7 (j² mod 1009) + l) / sqrt(inputs of an output), in fedkit's order of axes, and 0.5 more if it has one axis, such as a
bias or a gain; byte i of the images is (i² + 7 i) mod 251, token i is (i² + 3 i) mod 11, and its label the next one, or none if that is 0. Dropout draws as fedkit.Training.Bits has it, with the key of client 0 in
round 1 of seed 0.
"""

import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
EXAMPLES, SIDE, CLASSES, LR = 4, 12, 5, 0.1
TOKENS, LENGTH = 11, 6
KEY = [18434962774422328278, 15352649166271481459, 17412991591065309303]
drawn = 0


def start(shapes):
    """Returns parameters in fedkit's order of axes: kernels [k, k, i, o], dense weights [i, o]."""
    params = []
    for l, shape in enumerate(shapes):
        n = int(np.prod(shape))
        inputs = int(np.prod(shape[:-1])) if len(shape) > 1 else 10
        w = torch.from_numpy(np.sin(0.7 * (np.arange(n) ** 2 % 1009) + l) / np.sqrt(inputs) + 0.5 * (len(shape) == 1)).reshape(shape)
        params.append(w.requires_grad_())
    return params


def images(channels):
    i = np.arange(EXAMPLES * SIDE * SIDE * channels)
    x = ((i * i + 7 * i) % 251).reshape(EXAMPLES, SIDE, SIDE, channels) / 128 - 1
    return torch.from_numpy(x.transpose(0, 3, 1, 2).copy()), torch.arange(EXAMPLES) % CLASSES


def conv(x, w, stride=1, padding=0):
    return F.conv2d(x, w.permute(3, 2, 0, 1), stride=stride, padding=padding)


def flat(x):
    """As fedkit has it: pixels, then channels."""
    return x.permute(0, 2, 3, 1).flatten(1)


def cnn(p, x):
    for i in range(2):
        x = F.max_pool2d(F.relu(conv(x, p[2 * i], padding=2) + p[2 * i + 1][:, None, None]), 2)
    return F.relu(flat(x) @ p[4] + p[5]) @ p[6] + p[7]


def tokens():
    i = np.arange(EXAMPLES * LENGTH + 1)
    x = (i * i + 3 * i) % TOKENS
    y = np.where(x[1:] == 0, -1, x[1:])
    return [torch.from_numpy(v.reshape(EXAMPLES, LENGTH)) for v in (x[:-1], y)]


def cross_entropy(out, y):
    """The mean over examples of the mean over their labels."""
    if out.ndim == 2:
        return F.cross_entropy(out, y)
    each = F.cross_entropy(out.transpose(1, 2), y, ignore_index=-1, reduction="none").sum(1)
    return (each / (y >= 0).sum(1)).mean()


def threefry(key, x0, x1):
    """Threefry-2x32 with 20 rounds."""
    k = [np.uint32(key[0]), np.uint32(key[1])]
    k.append(k[0] ^ k[1] ^ np.uint32(0x1BD11BDA))
    x0, x1 = x0 + k[0], x1 + k[1]
    for i in range(5):
        for turn in [(13, 15, 26, 6), (17, 29, 16, 24)][i % 2]:
            x0 = x0 + x1
            x1 = (x1 << np.uint32(turn) | x1 >> np.uint32(32 - turn)) ^ x0
        x0, x1 = x0 + k[(i + 1) % 3], x1 + k[(i + 2) % 3] + np.uint32(i + 1)
    return x0, x1


def dropout(x, rate):
    """x is in fedkit's order of axes."""
    global drawn
    drawn += 1
    low = [k % 2**32 for k in KEY]
    position = np.arange((x.numel() + 1) // 2, dtype=np.uint32)
    bits = np.concatenate(threefry(low, position, np.full_like(position, (low[2] + drawn) % 2**32)))[: x.numel()]
    return x * torch.from_numpy(bits >= int(rate * 2**32)).reshape(x.shape) / (1 - rate)


def emnist_cnn(p, x):
    x = F.relu(conv(x, p[0]) + p[1][:, None, None])
    x = F.max_pool2d(F.relu(conv(x, p[2]) + p[3][:, None, None]), 2)
    x = dropout(flat(x), 0.25)
    return dropout(F.relu(x @ p[4] + p[5]), 0.5) @ p[6] + p[7]


def resnet(channels, groups, normalized):
    def network(p, x):
        p = iter(p)

        def layer(x, stride):
            y = conv(x, next(p), stride, 1)
            return F.group_norm(y, groups, next(p), next(p))

        x = F.relu(layer(x, 1))
        before = channels[0]
        for now in channels:
            stride = 2 if now > before else 1
            y = layer(F.relu(layer(x, stride)), 1)
            if stride > 1:
                x = conv(x, next(p), stride)
                x = F.group_norm(x, groups, next(p), next(p)) if normalized else x
            x, before = F.relu(x + y), now
        return x.mean((2, 3)) @ next(p) + next(p)

    shapes, before = [(3, 3, 3, channels[0])] + [(channels[0],)] * 2, channels[0]
    for now in channels:
        shapes += [(3, 3, before, now), (now,), (now,), (3, 3, now, now), (now,), (now,)]
        if now > before:
            shapes += [(1, 1, before, now)] + [(now,), (now,)] * normalized
        before = now
    return network, 3, shapes + [(before, CLASSES), (CLASSES,)]


LAYERS = [7, 5]


def lstm(p, x):
    x = F.embedding(x, p[0])
    for l in range(len(LAYERS)):
        w, b, u = p[1 + 3 * l : 4 + 3 * l]
        layer = torch.nn.LSTM(w.shape[0], u.shape[0], batch_first=True)
        names = {"weight_ih_l0": w.T, "weight_hh_l0": u.T, "bias_ih_l0": b, "bias_hh_l0": torch.zeros_like(b)}
        x, _ = torch.func.functional_call(layer, names, x)
    return x @ p[-2] + p[-1]


def lstm_shapes(embedding):
    shapes, before = [(TOKENS, embedding)], embedding
    for units in LAYERS:
        shapes += [(before, 4 * units), (4 * units,), (units, 4 * units)]
        before = units
    return shapes + [(before, TOKENS), (TOKENS,)]


WIDTH, HEADS, HIDDEN, RATE = 8, 2, 12, 0.2


def transformer(p, x):
    """PyTorch's own layers where there is no dropout, whose draws are fedkit's."""
    embedding, p = p[0], p[1:]
    t, i = torch.arange(LENGTH)[:, None], torch.arange(WIDTH)
    angle = t / 10000 ** (i // 2 * 2 / WIDTH)
    x = F.embedding(x, embedding) * WIDTH**0.5 + torch.where(i % 2 == 0, angle.sin(), angle.cos())
    mask = torch.triu(torch.ones(LENGTH, LENGTH, dtype=torch.bool), 1)
    while p:
        attention, (wi, bi, wo, bo, g1, o1, w1, b1, w2, b2, g2, o2), p = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), p[:12], p[12:]
        names = {"in_proj_weight": wi.T, "in_proj_bias": bi, "out_proj.weight": wo.T, "out_proj.bias": bo}
        seen, _ = torch.func.functional_call(attention, names, (x, x, x), {"attn_mask": mask})
        x = F.layer_norm(x + dropout(seen, RATE), (WIDTH,), g1, o1)
        x = F.layer_norm(x + dropout(F.relu(x @ w1 + b1) @ w2 + b2, RATE), (WIDTH,), g2, o2)
    return x @ embedding.T


def transformer_shapes(layers):
    w, h = WIDTH, HIDDEN
    return [(TOKENS, w)] + [(w, 3 * w), (3 * w,), (w, w), (w,), (w,), (w,), (w, h), (h,), (h, w), (w,), (w,), (w,)] * layers


NETWORKS = {
    "CNN": (cnn, 1, [(5, 5, 1, 32), (32,), (5, 5, 32, 64), (64,), (3 * 3 * 64, 512), (512,), (512, CLASSES), (CLASSES,)]),
    "EMNIST-CNN": (emnist_cnn, 1, [(3, 3, 1, 32), (32,), (3, 3, 32, 64), (64,), (4 * 4 * 64, 128), (128,), (128, CLASSES), (CLASSES,)]),
    "ResNet-8": resnet([16, 32, 64], 4, False),
    "ResNet-18": resnet([64, 64, 128, 128, 256, 256, 512, 512], 2, True),
    "LSTM-4-7-5": (lstm, 0, lstm_shapes(4)),
    "Transformer-8-2-2": (transformer, 0, transformer_shapes(2)),
}
result = {}
for name, (network, channels, shapes) in NETWORKS.items():
    p, (x, y) = start(shapes), images(channels) if channels else tokens()
    drawn = 0
    loss = cross_entropy(network(p, x), y)
    loss.backward()
    with torch.no_grad():
        q, drawn = [w - LR * w.grad for w in p], 0
        after = cross_entropy(network(q, x), y)
    result[name] = {
        "loss": loss.item(),
        "after": after.item(),
        "params": [{"shape": list(w.shape), "norm": w.norm().item(), "some": w.flatten()[:: max(1, w.numel() // 7)].tolist()} for w in q],
    }
path = pathlib.Path(__file__).with_name("networks.json")
path.write_text(json.dumps(result) + "\n")
