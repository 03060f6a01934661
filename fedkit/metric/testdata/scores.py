"""Numbers for scores_test.go: metrics of random outputs by scikit-learn.

Run with scikit-learn 1.9.1 and NumPy 2.4.6; writes scores.json next to itself. Outputs are drawn from NumPy's PCG64 and rounded to
float32, so that Go can read them exactly; some are rounded to halves, for ties.
"""

import json
import pathlib

import numpy as np
from sklearn.metrics import confusion_matrix, precision_score, roc_auc_score, top_k_accuracy_score

rng = np.random.default_rng(13)
cases = []
for n, classes, rounded in [(60, 4, False), (50, 2, False), (50, 2, True), (80, 7, False)]:
    labels = rng.integers(0, classes, size=n)
    outputs = rng.normal(size=(n, classes))
    outputs[np.arange(n), labels] += 0.7
    outputs = (np.round(2 * outputs) / 2 if rounded else outputs).astype(np.float32)
    z = outputs.astype(np.float64)
    softmax = np.exp(z - z.max(axis=1, keepdims=True))
    softmax /= softmax.sum(axis=1, keepdims=True)
    top = outputs.argmax(axis=1)
    cases.append({
        "outputs": outputs.astype(float).tolist(), "labels": labels.tolist(),
        "auc": roc_auc_score(labels, z[:, 1] - z[:, 0]) if classes == 2 else roc_auc_score(labels, softmax, multi_class="ovr"),
        "top": {} if classes == 2 else {k: top_k_accuracy_score(labels, z, k=k) for k in (1, 2, 3)},
        "precision": [None if np.isnan(v) else v for v in precision_score(labels, top, average=None, zero_division=np.nan)],
        "macro": precision_score(labels, top, average="macro", zero_division=0),
        "confusion": confusion_matrix(labels, top).tolist(),
    })
pathlib.Path(__file__).with_name("scores.json").write_text(json.dumps(cases) + "\n")
