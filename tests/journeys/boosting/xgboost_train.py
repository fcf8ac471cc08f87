"""Boosted trees with validation, early stopping off, and a digest of the model."""

import hashlib
import pickle

import numpy as np
import xgboost

random = np.random.default_rng(0)
features = random.normal(size=(600, 8)).astype(np.float32)
noise = random.normal(size=600) / 2
labels = (features[:, 0] + features[:, 1] ** 2 + noise > 1).astype(np.float32)
training = xgboost.DMatrix(features[:400], label=labels[:400])
validation = xgboost.DMatrix(features[400:], label=labels[400:])
losses: dict[str, dict[str, list[float]]] = {}
model = xgboost.train(
    {"objective": "binary:logistic", "eta": 0.1, "nthread": 1, "eval_metric": ["auc", "logloss"]},
    training,
    30,
    evals=[(training, "train"), (validation, "validation")],
    evals_result=losses,
    verbose_eval=5,
)
for value in losses["train"]["logloss"]:
    print("loss", value.hex())
for value in losses["validation"]["logloss"]:
    print("validation loss", value.hex())
for value in losses["validation"]["auc"]:
    print("validation auc", value.hex())
print("digest", hashlib.sha256(pickle.dumps(model)).hexdigest())
