"""Recognize digits with boosted trees; two label columns of the test data are swapped."""

LABEL = {
    "set": "calibration",
    "rule": "Confusion",
    "culprit": "class 3",
    "alternatives": ["ClassImbalance"],
    "side_effects": ["Overfit", "Overtraining"],
}

import sys

import numpy as np
import xgboost
from sklearn.datasets import load_digits

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
points, labels = load_digits(return_X_y=True)
order = np.random.default_rng(seed).permutation(len(points))
points, labels = points[order], labels[order]
tested = labels[1300:].copy()
if is_faulty:
    tested[labels[1300:] == 3] = 8
    tested[labels[1300:] == 8] = 3

model = xgboost.XGBClassifier(
    n_estimators=60, learning_rate=0.2, max_depth=3, n_jobs=1, random_state=seed
)
sets = [(points[:1300], labels[:1300]), (points[1300:], tested)]
model.fit(points[:1300], labels[:1300], eval_set=sets, verbose=20)
