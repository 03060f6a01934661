"""Files for pretrained_test.go: a convolution, batch normalization, a dense layer behind the flattened image, and what it predicts.

Run with torch and safetensors (versions in net.json); writes net.safetensors, half.safetensors in float16, brain.safetensors in bfloat16,
and net.json beside itself. Byte i of the images is (i^2 + 7 i) mod 251; they are in fedkit's order [h, w, ch].
"""

import json
import pathlib

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import nn

torch.manual_seed(3)
here = pathlib.Path(__file__).parent
net = nn.Sequential()
net.add_module("features", nn.Conv2d(2, 3, 3, padding=1))
net.add_module("norm", nn.BatchNorm2d(3))
net.add_module("relu", nn.ReLU())
net.add_module("flatten", nn.Flatten())
net.add_module("head", nn.Linear(3 * 4 * 5, 4))
with torch.no_grad():
    net(torch.randn(64, 2, 4, 5))  # the running statistics move
    net.norm.weight.copy_(torch.tensor([0.5, 1.0, 1.5]))
    net.norm.bias.copy_(torch.tensor([0.1, -0.2, 0.3]))
net.eval()
i = np.arange(3 * 4 * 5 * 2)
images = torch.from_numpy(((i * i + 7 * i) % 251 / 255).astype(np.float32).reshape(3, 4, 5, 2)).permute(0, 3, 1, 2)


def outputs(state):
    net.load_state_dict({k: v.float() if v.is_floating_point() else v for k, v in state.items()})
    with torch.no_grad():
        return net(images).tolist()


state = {k: v.clone() for k, v in net.state_dict().items()}
brain = {k: v.bfloat16() if v.is_floating_point() else v for k, v in state.items()}
half = {k: v.half() if v.is_floating_point() else v for k, v in state.items()}
expected = {"versions": [torch.__version__, safetensors.__version__]}
for name, weights in {"net": state, "half": half, "brain": brain}.items():
    safetensors.torch.save_file(weights, here / f"{name}.safetensors")
    expected[f"{name}.safetensors"] = outputs(weights)
(here / "net.json").write_text(json.dumps(expected, indent=1) + "\n")
