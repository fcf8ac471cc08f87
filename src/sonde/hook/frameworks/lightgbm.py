"""LightGBM: rounds, metrics, trees and predictions of `train` and the scikit-learn classes."""

import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from sonde.hook.boosting.boosted_model import BoostedModel, DataSet
from sonde.hook.boosting.objectives import (
    Array,
    Objective,
    absolute_error,
    binary,
    identity,
    mean_squared_error,
    multiclass,
)
from sonde.hook.boosting.rounds import BoostingRounds
from sonde.hook.frameworks._adapter import Adapter
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.round_counter import Columns
from sonde.hook.session import Session
from sonde.hook.stall_stacks import monitor_stalls
from sonde.hook.torch.patching.patches import Patches
from sonde.records.notice import NoticeKind
from sonde.records.observations.boosting import TreeShapes

Function = Callable[..., Any]

_LIBRARY = "lightgbm"
_PREDICT = "_Booster__inner_predict"  # also used for custom metrics, and cached per round
_ENGINES = ("lightgbm", "lightgbm.engine", "lightgbm.sklearn")  # modules that refer to `train`
_RATES = ("learning_rate", "eta", "shrinkage_rate")
_DEFAULT_RATE = 0.1
# its predictions are probabilities already, so there is no link
_OBJECTIVES: Mapping[str, Objective] = {
    "binary": binary("binary_logloss", identity),
    "multiclass": multiclass("multi_logloss", identity),
    "regression": mean_squared_error("l2"),
    "regression_l1": absolute_error("l1"),
}


class LightGBM(Adapter):
    """Reports every call of `Booster.update`, with the evaluations that follow it."""

    awaits = ("lightgbm",)

    def __init__(self) -> None:
        self._patches = Patches()
        self._model: Model | None = None  # of the training that runs
        self._results: dict[str, dict[str, float]] | None = None  # of the open round
        self._has_counted_round = False  # the open round is only counted
        self._may_have_new_rate = False  # the script has set parameters since the last round
        self._rate = _DEFAULT_RATE  # of the open round
        self._is_cross_validation = False

    def attach(self, session: Session) -> None:
        """Install the hooks."""
        self._session = session
        version = str(sys.modules[_LIBRARY].__version__)
        session.frameworks.add_versions(lightgbm=version, python=sys.version.split()[0])
        if not session.frameworks.name:
            session.frameworks.name = _LIBRARY
        monitor_stalls(session)
        self._rounds = BoostingRounds(session)
        session.listeners.on_end(self._end_round)
        booster = import_module("lightgbm.basic").Booster
        self._patches.wrap(booster, "update", self._wrap_update)
        self._patches.wrap(booster, "reset_parameter", self._wrap_reset_parameter)
        for name in ("eval_train", "eval_valid"):
            self._patches.wrap(booster, name, self._wrap_evaluation)
        # `train` calls it last, while the data still exists
        self._patches.wrap(booster, "model_from_string", self._wrap_last_call)
        for name in _ENGINES:
            module = import_module(name)
            self._patches.wrap(module, "train", self._wrap_train)
            self._patches.wrap(module, "cv", self._wrap_cross_validation)

    def detach(self) -> None:
        """Remove the hooks."""
        self._patches.undo()

    def _hook(self, function: Function) -> Function:
        return self._session.hook(_LIBRARY, function, None)

    def _wrap_update(self, original: Function) -> Function:
        begins, grown = self._hook(self._begin_round), self._hook(self._trees_grown)
        note_rate = self._session.guard.shield(_LIBRARY, self._note_rate, None)
        counter, state = self._rounds.counter, self._session.state
        count = counter.counting_hook()

        def call(booster: Any, *args: Any, **kwargs: Any) -> Any:
            is_recorded = not self._is_cross_validation
            if counter.subject() is booster and self._has_counted_round:
                self._has_counted_round = False
                count()
            is_counted = counter.subject() is booster and state.is_on and not state.is_resting
            if is_recorded and not is_counted:
                fobj = args[1] if len(args) > 1 else kwargs.get("fobj")
                begins(booster, fobj is not None)
            try:
                result = original(booster, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if counter.subject() is booster:  # may have begun with this round
                self._has_counted_round = True
                if self._may_have_new_rate:
                    note_rate()
            elif is_recorded:
                grown()
            return result

        return call

    def _wrap_reset_parameter(self, original: Function) -> Function:
        def call(booster: Any, *args: Any, **kwargs: Any) -> Any:
            self._may_have_new_rate = True
            try:
                return original(booster, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise

        return call

    def _wrap_evaluation(self, original: Function) -> Function:
        note = self._hook(self._note_results)
        counter = self._rounds.counter

        def call(booster: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                results = original(booster, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if counter.subject() is not booster:
                note(booster, results)
            elif self._has_counted_round:
                counter.note(results)
            return results

        return call

    def _wrap_last_call(self, original: Function) -> Function:
        ends = self._hook(self._end_training)

        def call(booster: Any, *args: Any, **kwargs: Any) -> Any:
            if self._model is not None and self._model.is_of(booster):
                ends()
            try:
                return original(booster, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise

        return call

    def _wrap_train(self, original: Function) -> Function:
        ends = self._hook(self._end_training)

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            finally:
                ends()

        return call

    def _wrap_cross_validation(self, original: Function) -> Function:
        skips = self._hook(self._skip_cross_validation)

        def call(*args: Any, **kwargs: Any) -> Any:
            skips()
            self._is_cross_validation = True
            try:
                return original(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            finally:
                self._is_cross_validation = False

        return call

    def _skip_cross_validation(self) -> None:
        reason = "its folds train at the same time, round by round"
        self._session.store.notice(NoticeKind.NOT_COLLECTED, "lightgbm.cv", reason)

    def _begin_round(self, booster: Any, is_custom: bool) -> None:
        self._end_round()
        if self._model is None or not self._model.is_of(booster):
            self._end_training()
            self._model = Model(booster, is_custom=is_custom)
            self._rounds.begin_training(self._model)
        if self._rounds.counter.subject() is not booster:
            self._rounds.begin_round()

    def _trees_grown(self) -> None:
        if self._model is not None:
            self._rate = self._model.learning_rate  # before callbacks set that of the next round
        self._may_have_new_rate = False
        self._rounds.trees_grown()
        self._results = {}

    def _note_rate(self) -> None:
        """Note the learning rate of a round that is only counted."""
        self._may_have_new_rate = False
        if self._model is not None:
            self._rounds.counter.note(self._model.learning_rate)

    def _note_results(self, booster: Any, results: Sequence[tuple[Any, ...]]) -> None:
        if self._results is not None and self._model is not None and self._model.is_of(booster):
            for name, metric, value, *_ in results:
                self._results.setdefault(str(name), {})[str(metric)] = float(value)

    def _end_round(self) -> None:
        """End the open round: callbacks after it have run."""
        has_counted, self._has_counted_round = self._has_counted_round, False
        if has_counted and self._rounds.counter.is_counting:
            self._rounds.counter.end_last()
        results, self._results = self._results, None
        if results is not None and self._model is not None:
            self._rounds.end_round(results, self._rate)
            self._rounds.count(self._model.booster, _counted_results)

    def _end_training(self) -> None:
        self._end_round()
        model, self._model = self._model, None
        if model is not None:
            best = model.best_round
            self._rounds.end_training(best, None, is_stopped=best is not None)


def _counted_results(
    _count: int, results: Sequence[tuple[int, Sequence[tuple[Any, ...]]]]
) -> Columns:
    """The metrics of newly counted rounds, which evaluations have returned."""
    columns: dict[str, dict[str, tuple[list[int], list[float]]]] = {}
    for position, evaluated in results:
        for name, metric, value, *_ in evaluated:
            column = columns.setdefault(str(name), {}).setdefault(str(metric), ([], []))
            column[0].append(position)
            column[1].append(float(value))
    return columns


class Model(BoostedModel):
    """A booster with the data of its training."""

    library = _LIBRARY

    def __init__(self, booster: Any, *, is_custom: bool = False) -> None:
        self.booster = weakref.ref(booster)
        self._is_custom = is_custom
        named = [(vars(booster)["_train_data_name"], booster.train_set)]
        named += zip(booster.name_valid_sets, booster.valid_sets, strict=True)
        self.data_sets = [
            DataSet(name, (index, data), int(data.num_data()), index == 0)
            for index, (name, data) in enumerate(named)
        ]

    def is_of(self, booster: Any) -> bool:
        """Whether this is the model of a booster."""
        return self.booster() is booster

    @property
    def _model(self) -> Any:
        return self.booster()

    @property
    def learning_rate(self) -> float:
        """The learning rate, which callbacks may change."""
        parameters = self._model.params
        rates = [parameters[name] for name in _RATES if name in parameters]
        return float(rates[0]) if rates else _DEFAULT_RATE

    @property
    def best_round(self) -> int | None:
        """The best round of this training, if early stopping has ended it."""
        best = int(self._model.best_iteration)
        return best - 1 if best > 0 else None

    @property
    def objective(self) -> Objective | None:
        """The objective; None for those of the script, of rankings and others."""
        name = str(self._model.params.get("objective", "regression"))
        return None if self._is_custom else _OBJECTIVES.get(name)

    @property
    def feature_names(self) -> Sequence[str]:
        """The names of the features."""
        names: list[str] = self._model.feature_name()
        return names

    def hyperparameters(self) -> Mapping[str, str]:
        """The parameters that the script sets."""
        values = {str(name): str(value) for name, value in self._model.params.items()}
        return {**values, "learning_rate": str(self.learning_rate)}

    def margins(self, data_set: DataSet) -> Array:
        """The predictions that LightGBM keeps for its data sets."""
        predict = getattr(self._model, _PREDICT)
        predictions: Array = predict(data_idx=data_set.data[0])
        return predictions

    def labels(self, data_set: DataSet) -> Array:
        """The labels."""
        return np.asarray(data_set.data[1].get_label())

    def weights(self, data_set: DataSet) -> Array | None:
        """The weights of the rows."""
        weights = data_set.data[1].get_weight()
        return None if weights is None else np.asarray(weights)

    def importance(self) -> Mapping[str, Array]:
        """Splits and gain, under the names of XGBoost."""
        weight = self._model.feature_importance("split").astype(np.float64)
        gain = self._model.feature_importance("gain")
        return {"weight": weight, "gain": gain / np.maximum(weight, 1), "total_gain": gain}

    def contributions(self, data_set: DataSet, rows: int) -> Array | None:
        """None: LightGBM does not keep the features in a form that can be predicted."""

    def trees(self, data_set: DataSet) -> TreeShapes | None:
        """The trees of the last round."""
        last = self._model.current_iteration() - 1
        trees = self._model.dump_model(num_iteration=1, start_iteration=last)["tree_info"]
        depths = [max(_leaf_depths(tree["tree_structure"])) for tree in trees]
        leaves = max(int(tree["num_leaves"]) for tree in trees)
        return TreeShapes(len(trees), max(depths), leaves, data_set.rows)


def _leaf_depths(root: Mapping[str, Any]) -> Iterator[int]:
    """The depth of each leaf; a single leaf has depth 0."""
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        children = [node[side] for side in ("left_child", "right_child") if side in node]
        waiting += [(child, depth + 1) for child in children]
        if not children:
            yield depth
