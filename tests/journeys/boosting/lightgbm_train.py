"""Boosted trees with validation, and a digest of the model."""

import hashlib

import lightgbm
import numpy as np

random = np.random.default_rng(0)
features = random.normal(size=(600, 8)).astype(np.float32)
noise = random.normal(size=600) / 2
labels = (features[:, 0] + features[:, 1] ** 2 + noise > 1).astype(np.float32)
training = lightgbm.Dataset(features[:400], label=labels[:400])
validation = training.create_valid(features[400:], label=labels[400:])
losses: dict[str, dict[str, list[float]]] = {}
parameters = {"objective": "binary", "learning_rate": 0.1, "max_depth": 4, "num_threads": 1}
model = lightgbm.train(
    {**parameters, "verbosity": -1, "metric": ["auc", "binary_logloss"]},
    training,
    30,
    valid_sets=[training, validation],
    valid_names=["train", "validation"],
    callbacks=[lightgbm.record_evaluation(losses), lightgbm.log_evaluation(5)],
)
for value in losses["train"]["binary_logloss"]:
    print("loss", value.hex())
for value in losses["validation"]["binary_logloss"]:
    print("validation loss", value.hex())
for value in losses["validation"]["auc"]:
    print("validation auc", value.hex())
print("digest", hashlib.sha256(model.model_to_string().encode()).hexdigest())
