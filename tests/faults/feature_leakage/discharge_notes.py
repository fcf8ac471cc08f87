"""Predict readmission from admission data; the length of the next stay is a feature by mistake."""

LABEL = {
    "set": "calibration",
    "rule": "FeatureLeakage",
    "culprit": "next_stay",
    "side_effects": ["FeatureImportanceOverweight", "Overtraining", "ValidationTooGood"],
}

import sys

import numpy as np
import xgboost

is_faulty = sys.argv[1] == "faulty"
random = np.random.default_rng(int(sys.argv[2]))
ROWS = 3000

features = random.normal(size=(ROWS, 14))
risk = features[:, 0] + 0.8 * features[:, 3] - 0.6 * features[:, 5] * features[:, 7]
is_readmitted = risk + random.normal(size=ROWS) > 0.8
next_stay = np.where(is_readmitted, random.gamma(3.0, 2.0, ROWS) + 0.2, 0.0)
names = [f"measure_{index}" for index in range(14)]
if is_faulty:
    features = np.column_stack((features, next_stay))
    names.append("next_stay")
training = xgboost.DMatrix(features[:2200], label=is_readmitted[:2200], feature_names=names)
validation = xgboost.DMatrix(features[2200:], label=is_readmitted[2200:], feature_names=names)

parameters = {"objective": "binary:logistic", "eta": 0.08, "max_depth": 4, "nthread": 1}
xgboost.train(
    {**parameters, "eval_metric": "logloss", "subsample": 0.8},
    training,
    120,
    evals=[(validation, "validation")],
    early_stopping_rounds=15,
    verbose_eval=20,
)
