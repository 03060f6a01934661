"""Numbers for loss_test.go: losses, accuracies and gradients in float64 by JAX's automatic differentiation.

Run with JAX 0.10.2 and NumPy 2.4.6; writes reference.json beside itself. Outputs are drawn from NumPy's PCG64 and rounded to
float32, so that Go can read them exactly; the first example's are 0, as those of a model that starts at zero. Gradients are those of
the sum over the examples.
"""

import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(7)
B, T, V = 4, 3, 5


def log_softmax(z):
    return z - jax.scipy.special.logsumexp(z, axis=-1, keepdims=True)


def cross_entropy(z, y):
    used = y >= 0
    chosen = jnp.take_along_axis(log_softmax(z), jnp.maximum(y, 0)[..., None], axis=-1)[..., 0]
    return -jnp.sum(jnp.where(used, chosen, 0), axis=-1) / jnp.maximum(jnp.sum(used, axis=-1), 1)


def correct(z, y):
    used = y >= 0
    return jnp.sum(jnp.where(used, jnp.argmax(z, axis=-1) == y, 0), axis=-1) / jnp.maximum(jnp.sum(used, axis=-1), 1)


def squared_error(z, y):
    return 0.5 * jnp.sum((z - y) ** 2, axis=-1)


def binary_cross_entropy(z, y):
    return jnp.mean(y * jnp.logaddexp(0, -z) + (1 - y) * jnp.logaddexp(0, z), axis=-1)


def correct_tags(z, y):
    return jnp.mean((z > 0) == (y == 1), axis=-1)


def case(name, loss, accuracy, z, y):
    z = z.astype(np.float32).astype(np.float64)
    z[0] = 0
    lists = lambda a: np.asarray(a, dtype=np.float64).ravel().tolist()
    return {"name": name, "shape": list(z.shape), "width": list(y.shape), "out": lists(z), "y": lists(y), "loss": lists(loss(z, y)),
            "accuracy": lists(accuracy(z, y)), "gradient": lists(jax.grad(lambda z: jnp.sum(loss(z, y)))(z))}


labels = rng.integers(0, V, (B, T))
labels[1, 0] = labels[2, :] = -1  # the third example has no label
values = rng.normal(size=(B, T)).astype(np.float32).astype(np.float64)
tags = rng.integers(0, 2, (B, T)).astype(np.float64)
large = 3 * rng.normal(size=(B, T))
large[3] = [200, -200, 88]  # exp overflows in float32
right = lambda z, y: 1 - 2 * squared_error(z, y)
cases = [
    case("positions", cross_entropy, correct, 2 * rng.normal(size=(B, T, V)), labels),
    case("values", squared_error, right, rng.normal(size=(B, T)), values),
    case("tags", binary_cross_entropy, correct_tags, large, tags),
    case("one tag", binary_cross_entropy, correct_tags, large[:, :1], tags[:, :1]),
]
pathlib.Path(__file__).with_name("reference.json").write_text(json.dumps(cases, indent=1))
