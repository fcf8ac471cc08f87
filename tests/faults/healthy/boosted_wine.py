"""Boosted trees for three kinds of wine, tuned by cross-validation, then trained on all data."""

LABEL = {"set": "calibration", "rule": None}

import sys

import numpy as np
import xgboost
from sklearn.datasets import load_wine

seed = int(sys.argv[2])
points, labels = load_wine(return_X_y=True)
order = np.random.default_rng(seed).permutation(len(points))
points, labels = points[order], labels[order]
data = xgboost.DMatrix(points, label=labels)
common = {"objective": "multi:softprob", "num_class": 3, "nthread": 1, "seed": seed}

best = (np.inf, 0.1)
for rate in (0.05, 0.1, 0.3):
    result = xgboost.cv({**common, "eta": rate, "max_depth": 2}, data, 60, nfold=4, seed=seed)
    loss = float(result["test-mlogloss-mean"].iloc[-1])
    print(f"rate {rate}: loss {loss:.4f}")
    best = min(best, (loss, rate))
xgboost.train({**common, "eta": best[1], "max_depth": 2}, data, 60)
