"""Trains with the hooks of the old client for XGBoost and Keras, one after the other."""

import sys
from pathlib import Path

import numpy as np
import xgboost

import smdebug.tensorflow as keras_client
import smdebug.xgboost as boosting_client


class Variable:
    """A weight as Keras has it."""

    def __init__(self, path, values):
        self.path = path
        self.name = path.rpartition("/")[2]
        self._values = np.array(values)

    def __array__(self, dtype=None, copy=None):
        return self._values


class Model:
    weights = (Variable("sequential/dense/kernel", [[1.0, 2.0]]), Variable("dense/bias", [3.0]))


out_dir = Path(sys.argv[1])
random = np.random.default_rng(0)
features = random.normal(size=(60, 3))
data = xgboost.DMatrix(features, label=features[:, 0] > 0)
params = {"objective": "binary:logistic", "eta": 0.3}
hook = boosting_client.Hook(
    out_dir=str(out_dir / "xgboost"),
    save_config=boosting_client.SaveConfig(save_interval=2),
    include_collections=["feature_importance", "average_shap", "predictions", "hyperparameters"],
    train_data=data,
    hyperparameters=params,
)
xgboost.train(
    params, data, num_boost_round=4, evals=[(data, "train")], callbacks=[hook], verbose_eval=False
)

hook = keras_client.KerasHook(
    out_dir=str(out_dir / "keras"),
    save_config=keras_client.SaveConfig(save_interval=1),
    include_collections=["weights"],
)
hook.set_model(Model())
hook.on_train_begin()
for batch in range(2):
    hook.on_train_batch_begin(batch)
    hook.on_train_batch_end(batch, {"loss": 1.0 - batch / 2, "accuracy": 0.5})
hook.on_test_batch_begin(0)
hook.on_test_batch_end(0, {"loss": 0.25})
hook.on_train_end()
hook.close()
