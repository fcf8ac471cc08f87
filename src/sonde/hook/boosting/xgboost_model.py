"""A model in training by XGBoost."""

import json
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sonde.hook.boosting import objectives
from sonde.hook.boosting.boosted_model import BoostedModel, DataSet
from sonde.hook.boosting.objectives import Array, Objective
from sonde.records.observations.boosting import TreeShapes

_SECTIONS = ("generic_param", "learner_train_param", "gradient_booster", "objective")
_OBJECTIVES: Mapping[str, Objective] = {
    "binary:logistic": objectives.binary("logloss"),
    "binary:logitraw": objectives.binary("logloss"),
    "multi:softprob": objectives.multiclass("mlogloss"),
    "multi:softmax": objectives.multiclass("mlogloss"),
    "reg:squarederror": objectives.squared_error("rmse"),
    "reg:linear": objectives.squared_error("rmse"),
    "reg:logistic": objectives.squared_error("rmse", objectives.sigmoid),
    "reg:squaredlogerror": objectives.squared_log_error("rmsle"),
    "reg:absoluteerror": objectives.absolute_error("mae"),
}


class XGBoostModel(BoostedModel):
    """A booster with the data of its training."""

    library = "xgboost"

    def __init__(
        self,
        booster: Any,
        dtrain: Any,
        evals: Sequence[tuple[Any, str]],
        *,
        is_custom: bool = False,
    ) -> None:
        self._booster = weakref.ref(booster)
        self._is_custom = is_custom
        self._fixed: dict[str, str] = {}  # hyperparameters that cannot change
        self.data_sets = _data_sets(dtrain, evals)

    def is_of(self, booster: Any) -> bool:
        """Whether this is the model of a booster."""
        return self._booster() is booster

    @property
    def _model(self) -> Any:
        return self._booster()

    @property
    def objective(self) -> Objective | None:
        """The objective; None for those of the script, of rankings and of survival times."""
        return None if self._is_custom else _OBJECTIVES.get(self._constant("objective"))

    @property
    def feature_names(self) -> Sequence[str]:
        """The names of the features; `f0`, `f1`, … if the data has none."""
        names = self._model.feature_names
        return names or [f"f{index}" for index in range(self._model.num_features())]

    def hyperparameters(self) -> Mapping[str, str]:
        """The parameters of the booster, as XGBoost reports them."""
        learner = json.loads(self._model.save_config())["learner"]
        values: dict[str, str] = {}
        for section in _SECTIONS:
            values |= _flat(learner.get(section, {}))
        values.pop("name", None)  # of the objective
        values["objective"] = str(learner["objective"]["name"])
        values["booster"] = str(learner["gradient_booster"]["name"])
        return values

    def margins(self, data_set: DataSet) -> Array:
        """The raw predictions, which XGBoost keeps for data that it trains on or evaluates."""
        margins: Array = self._model.predict(data_set.data, output_margin=True)
        return margins[:, 0] if margins.ndim == 2 and margins.shape[1] == 1 else margins

    def labels(self, data_set: DataSet) -> Array:
        """The labels."""
        labels: Array = data_set.data.get_label()
        return labels

    def weights(self, data_set: DataSet) -> Array | None:
        """The weights of the rows."""
        weights: Array = data_set.data.get_weight()
        return weights if len(weights) == data_set.rows else None

    def importance(self) -> Mapping[str, Array]:
        """The five kinds of feature importance."""
        weight = self._scores("weight")
        if not self._has_trees:
            return {"weight": weight}
        gain, cover = self._scores("total_gain"), self._scores("total_cover")
        splits = np.maximum(weight, 1)
        totals = {"total_gain": gain, "total_cover": cover}
        return {"weight": weight, "gain": gain / splits, "cover": cover / splits, **totals}

    def _scores(self, kind: str) -> Array:
        indexes = {name: index for index, name in enumerate(self.feature_names)}
        values = np.zeros(len(indexes))
        for name, score in self._model.get_score(importance_type=kind).items():
            values[indexes[name]] = np.abs(score).sum()  # of all classes, for linear models
        return values

    def contributions(self, data_set: DataSet, rows: int) -> Array | None:
        """SHAP values of evenly spaced rows."""
        data = data_set.data
        if rows < data_set.rows:
            if type(data).__name__ != "DMatrix":  # quantized data cannot be sliced
                return None
            chosen = np.linspace(0, data_set.rows - 1, rows).astype(np.int64)
            data = data.slice(chosen)
        values: Array = self._model.predict(data, pred_contribs=True)
        return values

    def trees(self, data_set: DataSet) -> TreeShapes | None:
        """The trees of the last round."""
        if not self._has_trees:
            return None
        rounds = self._model.num_boosted_rounds()
        dumps = self._model[rounds - 1 : rounds].get_dump()
        depths, leaves = zip(*map(_depth_and_leaves, dumps), strict=True)
        return TreeShapes(len(dumps), max(depths), max(leaves), data_set.rows)

    @property
    def _has_trees(self) -> bool:
        return self._constant("booster") != "gblinear"

    def _constant(self, name: str) -> str:
        if not self._fixed:
            self._fixed.update(self.hyperparameters())
        return self._fixed[name]


def _data_sets(dtrain: Any, evals: Sequence[tuple[Any, str]]) -> list[DataSet]:
    """The training data under the name that the script gives it, then the other data sets."""
    rows = int(dtrain.num_row())
    trained = [name for data, name in evals if data is dtrain]
    # scripts also build the training data twice
    same_size = [(data, name) for data, name in evals if data.num_row() == rows]
    trained += [
        name for data, name in same_size if name.startswith("train") or _is_copy(data, dtrain)
    ]
    training = DataSet(trained[0] if trained else "train", dtrain, rows, True)
    others = [(data, name) for data, name in evals if name not in (training.name, *trained)]
    return [training, *(DataSet(name, data, int(data.num_row()), False) for data, name in others)]


def _is_copy(data: Any, dtrain: Any) -> bool:
    """Whether two data sets of equal size have the same labels, in the same order."""
    is_as_dense = data.num_nonmissing() == dtrain.num_nonmissing()
    return is_as_dense and np.array_equal(data.get_label(), dtrain.get_label())


def _flat(document: Mapping[str, Any]) -> dict[str, str]:
    """The texts of a nested document by their innermost name."""
    values: dict[str, str] = {}
    for name, value in document.items():
        if isinstance(value, Mapping):
            values |= _flat(value)
        elif isinstance(value, str):
            values[name] = value
    return values


def _depth_and_leaves(dump: str) -> tuple[int, int]:
    """The depth of a tree (a single leaf has depth 0), and its leaves."""
    lines = dump.splitlines()
    depth = max((len(line) - len(line.lstrip("\t")) for line in lines), default=0)
    return depth, sum(":leaf=" in line for line in lines)
