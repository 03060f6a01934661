"""Numbers for networks_test.go: what PyTorch does with CNN and ResNet8 in a step of gradient descent, in float64.

Run with torch 2.15.0 and NumPy; writes networks.json beside itself. Start and images come from formulas, which the test has too: number j of
parameter l is sin(0.7 j + l) / sqrt(inputs of an output), in fedkit's order of axes; byte i of the images is (i² + 7 i) mod 251.
"""

import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
EXAMPLES, SIDE, CLASSES, LR = 4, 12, 5, 0.1


def start(shapes):
    """Returns parameters in fedkit's order of axes: kernels [k, k, i, o], dense weights [i, o]; gains are around 1."""
    params = []
    for l, shape in enumerate(shapes):
        n = int(np.prod(shape))
        inputs = int(np.prod(shape[:-1])) if len(shape) > 1 else 10
        w = torch.from_numpy(np.sin(0.7 * np.arange(n) + l) / np.sqrt(inputs)).reshape(shape)
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


def resnet8(p, x):
    p = iter(p)

    def layer(x, stride):
        y = conv(x, next(p), stride, 1)
        return F.group_norm(y, 4, next(p), next(p))

    x = F.relu(layer(x, 1))
    for i in range(3):
        stride = min(2, i + 1)
        y = layer(F.relu(layer(x, stride)), 1)
        if stride > 1:
            x = conv(x, next(p), stride)
        x = F.relu(x + y)
    return x.mean((2, 3)) @ next(p) + next(p)


def block(i, o, shortcut):
    return [(3, 3, i, o), (o,), (o,), (3, 3, o, o), (o,), (o,)] + [(1, 1, i, o)] * shortcut


NETWORKS = {
    "CNN": (cnn, 1, [(5, 5, 1, 32), (32,), (5, 5, 32, 64), (64,), (3 * 3 * 64, 512), (512,), (512, CLASSES), (CLASSES,)]),
    "ResNet-8": (resnet8, 3, [(3, 3, 3, 16), (16,), (16,)] + block(16, 16, 0) + block(16, 32, 1) + block(32, 64, 1) + [(64, CLASSES), (CLASSES,)]),
}
result = {}
for name, (network, channels, shapes) in NETWORKS.items():
    p, (x, y) = start(shapes), images(channels)
    loss = F.cross_entropy(network(p, x), y)
    loss.backward()
    with torch.no_grad():
        q = [w - LR * w.grad for w in p]
        after = F.cross_entropy(network(q, x), y)
    result[name] = {
        "loss": loss.item(),
        "after": after.item(),
        "params": [{"shape": list(w.shape), "norm": w.norm().item(), "some": w.flatten()[:: max(1, w.numel() // 7)].tolist()} for w in q],
    }
path = pathlib.Path(__file__).with_name("networks.json")
path.write_text(json.dumps(result) + "\n")
