"""Numbers for reference_test.go: metrics of random outputs by scikit-learn and NumPy.

Run with scikit-learn 1.9.1 and NumPy 2.4.6; writes reference.json beside itself. Outputs are drawn from NumPy's PCG64 and
rounded to float32, so that Go can read them exactly. Macro F1 and recall are scikit-learn's; a class without an example
has recall NaN, written as null. The expected calibration error (Guo et al., arXiv 1706.04599) is NumPy's, in float64.
"""

import json
import pathlib

import numpy as np
from sklearn.metrics import f1_score, recall_score

rng = np.random.default_rng(11)


def calibration_error(outputs, labels, bins):
    z = outputs.astype(np.float64)
    softmax = np.exp(z - z.max(axis=1, keepdims=True))
    softmax /= softmax.sum(axis=1, keepdims=True)
    conf, right = softmax.max(axis=1), softmax.argmax(axis=1) == labels
    bin_of = np.digitize(conf, np.linspace(0, 1, bins + 1), right=True)
    error = 0.0
    for b in np.unique(bin_of):
        inside = bin_of == b
        error += inside.mean() * abs(right[inside].mean() - conf[inside].mean())
    return error


cases = []
for n, classes, used, scale in [(60, 4, 4, 2.0), (40, 10, 6, 1.0), (50, 2, 2, 6.0), (7, 5, 2, 0.5), (1, 3, 1, 1.0)]:
    labels = rng.integers(0, used, size=n)
    outputs = rng.normal(size=(n, classes))
    outputs[np.arange(n), labels] += 1  # better than chance
    outputs = (scale * outputs).astype(np.float32)
    top = outputs.argmax(axis=1)
    recall = recall_score(labels, top, labels=range(classes), average=None, zero_division=np.nan)
    cases.append({
        "outputs": outputs.tolist(),
        "labels": labels.tolist(),
        "f1": f1_score(labels, top, average="macro"),
        "recall": [None if np.isnan(r) else r for r in recall],
        "ece": {bins: calibration_error(outputs, labels, bins) for bins in (1, 10, 15)},
    })

pathlib.Path(__file__).with_name("reference.json").write_text(json.dumps(cases) + "\n")
