"""XGBoost: rounds, metrics, trees and predictions of `train`, `cv` and the scikit-learn classes."""

import json
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from sonde.hook.boosting import objectives
from sonde.hook.boosting.boosted_model import BoostedModel, DataSet
from sonde.hook.boosting.objectives import Array, Objective
from sonde.hook.boosting.rounds import BoostingRounds, Results
from sonde.hook.frameworks._adapter import Adapter
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.session import Session
from sonde.hook.stall_stacks import monitor_stalls
from sonde.hook.torch.patching.patches import Patches
from sonde.records.observations.boosting import TreeShapes

Function = Callable[..., Any]

_LIBRARY = "xgboost"
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


class XGBoost(Adapter):
    """Reports trainings that run through callbacks, and loops that call `Booster.update`."""

    awaits = ("xgboost",)

    def __init__(self) -> None:
        self._patches = Patches()
        self._container: Callable[[], Any] = _nothing  # of the training that runs
        self._lengths: dict[tuple[str, str], int] = {}  # of metrics, when they were last read
        self._may_have_new_rate = True
        self._rate: float | None = None  # of the current round, if it may have changed
        self._loop_model: Callable[[], Any] = _nothing  # of a loop that calls `update`

    def attach(self, session: Session) -> None:
        """Install the hooks."""
        self._session = session
        version = str(sys.modules[_LIBRARY].__version__)
        session.frameworks.add_versions(xgboost=version, python=sys.version.split()[0])
        if not session.frameworks.name:
            session.frameworks.name = _LIBRARY
        monitor_stalls(session)
        self._rounds = BoostingRounds(session)
        container = import_module("xgboost.callback").CallbackContainer
        booster = import_module("xgboost.core").Booster
        self._patches.wrap(container, "before_iteration", self._wrap_begin)
        self._patches.wrap(container, "after_iteration", self._wrap_end)
        self._patches.wrap(container, "after_training", self._wrap_after)
        self._patches.wrap(booster, "set_param", self._wrap_set_param)
        self._patches.wrap(booster, "update", self._wrap_update)

    def detach(self) -> None:
        """Remove the hooks."""
        self._patches.undo()

    def _hook(self, function: Function) -> Function:
        return self._session.hook(_LIBRARY, function, None)

    def _wrap_begin(self, original: Function) -> Function:
        begins = self._hook(self._begin_round)

        def call(container: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                is_over = original(container, model, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if not is_over:
                begins(container, model, args, kwargs)
            return is_over

        return call

    def _wrap_end(self, original: Function) -> Function:
        grown, ends = self._hook(self._trees_grown), self._hook(self._end_round)

        def call(container: Any, *args: Any, **kwargs: Any) -> Any:
            grown()
            try:
                is_over = original(container, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                ends(container)
                raise
            ends(container)
            return is_over

        return call

    def _wrap_after(self, original: Function) -> Function:
        ends = self._hook(self._end_training)

        def call(container: Any, model: Any) -> Any:
            ends(container, model)
            try:
                return original(container, model)
            except BaseException as error:
                drop_frame(error)
                raise

        return call

    def _wrap_set_param(self, original: Function) -> Function:
        def call(booster: Any, *args: Any, **kwargs: Any) -> Any:
            self._may_have_new_rate = True
            try:
                return original(booster, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise

        return call

    def _wrap_update(self, original: Function) -> Function:
        """Wrap `Booster.update`, which scripts also call in loops of their own."""
        begins, ends = self._hook(self._begin_loop_round), self._hook(self._end_loop_round)

        def call(booster: Any, dtrain: Any, *args: Any, **kwargs: Any) -> Any:
            is_own_loop = self._container() is None
            if is_own_loop:
                begins(booster, dtrain)
            try:
                result = original(booster, dtrain, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if is_own_loop:
                ends()
            return result

        return call

    def _begin_round(
        self, container: Any, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        if self._container() is not container:
            self._container, self._lengths = weakref.ref(container), {}
            self._may_have_new_rate = True
            folds = getattr(model, "cvfolds", None)
            if folds:  # of cross-validation: their mean is recorded, and the first one inspected
                booster, (dtrain, *_), evals = (
                    folds[0].bst,
                    folds[0].watchlist[0],
                    folds[0].watchlist,
                )
            else:
                given = dict(zip(("epoch", "dtrain", "evals"), args, strict=False)) | {**kwargs}
                booster, dtrain, evals = model, given["dtrain"], given.get("evals") or ()
            is_custom = bool(getattr(container, "_output_margin", False))
            self._rounds.begin_training(Model(booster, dtrain, evals, is_custom=is_custom))
        self._rounds.begin_round()

    def _trees_grown(self) -> None:
        self._rate = self._new_rate()  # before callbacks set the rate of the next round
        self._rounds.trees_grown()

    def _end_round(self, container: Any) -> None:
        training = self._rounds.training
        if training is not None and self._container() is container:
            self._rounds.end_round(self._new_results(container.history), self._rate)

    def _end_training(self, container: Any, model: Any) -> None:
        if self._container() is not container:
            return
        self._container = _nothing
        best = _attribute(model, "best_iteration")
        score = _attribute(model, "best_score")
        self._rounds.end_training(
            None if best is None else int(best), score, is_stopped=_has_stopped(container, best)
        )

    def _begin_loop_round(self, booster: Any, dtrain: Any) -> None:
        if self._loop_model() is not booster:
            self._loop_model = weakref.ref(booster)
            self._may_have_new_rate = True
            self._rounds.begin_training(Model(booster, dtrain, ()))
        self._rounds.begin_round()

    def _end_loop_round(self) -> None:
        self._trees_grown()
        self._rounds.end_round({}, self._rate)

    def _new_rate(self) -> float | None:
        """The learning rate, if it may have changed."""
        training = self._rounds.training
        if training is None or not self._may_have_new_rate:
            return None
        self._may_have_new_rate = False
        rate = training.model.hyperparameters().get("learning_rate")
        return None if rate is None else float(rate)

    def _new_results(self, history: Mapping[str, Mapping[str, Sequence[Any]]]) -> Results:
        """The metrics that were added since the last round; `cv` adds pairs of mean and spread."""
        results: dict[str, dict[str, float]] = {}
        for name, metrics in history.items():
            for metric, values in metrics.items():
                if len(values) > self._lengths.get((name, metric), 0):
                    self._lengths[name, metric] = len(values)
                    value = values[-1]
                    number = value[0] if isinstance(value, tuple) else value
                    results.setdefault(name, {})[metric] = float(number)
        return results


class Model(BoostedModel):
    """A booster with the data of its training."""

    library = _LIBRARY

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


def _attribute(model: Any, name: str) -> float | None:
    """A number that early stopping has set."""
    text = model.attr(name)
    try:
        return None if text is None else float(text)
    except (TypeError, ValueError):
        return None


def _has_stopped(container: Any, best_round: float | None) -> bool:
    """Whether early stopping has ended the training: it waited as long as it may."""
    patience = [
        callback.rounds for callback in container.callbacks if hasattr(callback, "stopping_history")
    ]
    if best_round is None or not patience:
        return False
    lengths = [len(values) for sets in container.history.values() for values in sets.values()]
    return bool(max(lengths, default=0) - 1 - best_round >= min(patience))


def _depth_and_leaves(dump: str) -> tuple[int, int]:
    """The depth of a tree (a single leaf has depth 0), and its leaves."""
    lines = dump.splitlines()
    depth = max((len(line) - len(line.lstrip("\t")) for line in lines), default=0)
    return depth, sum(":leaf=" in line for line in lines)


def _nothing() -> None:
    """A reference to nothing."""
