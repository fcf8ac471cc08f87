"""Boosted regression of noisy prices with a rate schedule, many features and early stopping."""

LABEL = {"set": "calibration", "rule": None}

import sys

import numpy as np
import xgboost

random = np.random.default_rng(int(sys.argv[2]))
ROWS = 6000
features = random.normal(size=(ROWS, 40))
weights = random.normal(size=40) * (random.random(40) < 0.5)
prices = features @ weights + 2 * np.sin(features[:, 1]) + random.normal(size=ROWS)
training = xgboost.DMatrix(features[:4500], label=prices[:4500])
validation = xgboost.DMatrix(features[4500:], label=prices[4500:])
schedule = xgboost.callback.LearningRateScheduler(lambda number: 0.3 * 0.99**number)
xgboost.train(
    {"max_depth": 4, "subsample": 0.7, "nthread": 1},
    training,
    150,
    evals=[(training, "train"), (validation, "validation")],
    early_stopping_rounds=20,
    callbacks=[schedule],
    verbose_eval=30,
)
