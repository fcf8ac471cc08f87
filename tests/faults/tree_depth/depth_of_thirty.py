"""Predict the quality of steel from few samples; the depth of the trees is copied from a forest."""

LABEL = {
    "set": "calibration",
    "rule": "TreeDepth",
    "alternatives": ["Overfit", "Overtraining"],
}

import sys

import numpy as np
import xgboost

is_faulty = sys.argv[1] == "faulty"
random = np.random.default_rng(int(sys.argv[2]))
ROWS = 900

features = random.uniform(-1, 1, size=(ROWS, 10))
quality = features[:, 0] + features[:, 1] * features[:, 2] + 0.4 * random.normal(size=ROWS)
training = xgboost.DMatrix(features[:700], label=quality[:700])
validation = xgboost.DMatrix(features[700:], label=quality[700:])

depth = 30 if is_faulty else 3
parameters = {"eta": 0.1, "max_depth": depth, "min_child_weight": 1, "nthread": 1}
xgboost.train(parameters, training, 60, evals=[(training, "train"), (validation, "test")])
