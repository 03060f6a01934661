"""The server's work on the clients' rows U [100, 1,000,000], in NumPy: the weighted mean, the median, the Gram matrix."""
import json, time
import numpy as np

rng = np.random.default_rng(0)
U, w = rng.standard_normal((100, 1_000_000), np.float32), rng.random(100).astype(np.float32)
w /= w.sum()
result = {}
for name, f in dict(mean=lambda: w @ U, median=lambda: np.median(U, axis=0), gram=lambda: U @ U.T).items():
    times = []
    for _ in range(5):
        start = time.time()
        f()
        times.append(time.time() - start)
    result[name + '_ms'] = round(1e3 * sorted(times)[2], 1)
print(json.dumps(dict(peer='numpy', task='server', **result)))
