"""Numbers in TestDirichletAgreesWithFlower: Flower Datasets' DirichletPartitioner over 100 seeds.

10,000 labels, 1,000 of each of 10 classes, are dealt out to 20 clients. For each α: mean and standard error, over the
seeds, of three figures of a deal.

    pip install flwr-datasets==0.6.1 scipy==1.17.0 && python flower.py
"""

import datasets
import numpy as np
from flwr_datasets.partitioner import DirichletPartitioner
from scipy.spatial.distance import pdist

CLASSES, ROWS, CLIENTS, SEEDS = 10, 10_000, 20, 100

labels = datasets.Dataset.from_dict({"label": np.arange(ROWS) % CLASSES})


def effective(p):
    """exp of the entropy of shares along the last axis."""
    return np.exp(-np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0), axis=-1))


for alpha in [0.1, 0.5, 10.0]:
    figures = []
    for seed in range(SEEDS):
        partitioner = DirichletPartitioner(
            num_partitions=CLIENTS, partition_by="label", alpha=alpha, min_partition_size=1, self_balancing=False, seed=seed
        )
        partitioner.dataset = labels
        counts = np.array(
            [np.bincount(partitioner.load_partition(i)["label"], minlength=CLASSES) for i in range(CLIENTS)], dtype=float
        )
        shares = counts / counts.sum(axis=1, keepdims=True)
        distance = pdist(shares, "cityblock").mean() / 2
        figures.append([distance, effective(shares).mean(), effective(counts.sum(axis=1) / ROWS)])
    mean, error = np.mean(figures, axis=0), np.std(figures, axis=0, ddof=1) / np.sqrt(SEEDS)
    print(f"{{{alpha}, [3]float64{{{', '.join(f'{v:.5f}' for v in mean)}}}, [3]float64{{{', '.join(f'{v:.5f}' for v in error)}}}}},", flush=True)
