"""XGBoost: rounds, metrics, trees and predictions of `train`, `cv` and the scikit-learn classes."""

import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from sonde.clock import thread_cpu_ns
from sonde.hook.boosting.results import Results
from sonde.hook.boosting.rounds import BoostingRounds
from sonde.hook.boosting.xgboost_model import XGBoostModel
from sonde.hook.frameworks._adapter import Adapter
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.round_counter import Columns, no_columns
from sonde.hook.session import Session
from sonde.hook.stall_stacks import monitor_stalls
from sonde.hook.torch.patching.patches import Patches

Function = Callable[..., Any]

_LIBRARY = "xgboost"
_RATES = ("learning_rate", "eta")


class XGBoost(Adapter):
    """Reports trainings that run through callbacks, and loops that call `Booster.update`."""

    awaits = ("xgboost",)

    def __init__(self) -> None:
        self._patches = Patches()
        self._container: Callable[[], Any] = _nothing  # of the training that runs
        self._lengths: dict[tuple[str, str], int] = {}  # of metrics, when they were last read
        self._may_have_new_rate = True
        self._set_rate: float | None = None  # that the script has set, if that is known
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
        self._count = self._rounds.counter.counting_hook()
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
        counter, state = self._rounds.counter, self._session.state

        def call(container: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                is_over = original(container, model, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if counter.subject() is container and state.is_on and not state.is_resting:
                return is_over
            if not is_over:
                begins(container, model, args, kwargs)
            return is_over

        return call

    def _wrap_end(self, original: Function) -> Function:
        grown, ends = self._hook(self._trees_grown), self._hook(self._end_round)
        note_rate = self._session.guard.shield(_LIBRARY, self._note_rate, None)
        counter, count = self._rounds.counter, self._count

        def call(container: Any, *args: Any, **kwargs: Any) -> Any:
            is_counted = counter.subject() is container
            if not is_counted:
                grown()
            elif self._may_have_new_rate:
                note_rate()
            try:
                is_over = original(container, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                (count if is_counted else partial(ends, container))()
                raise
            if is_counted:
                count()
            else:
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
            self._note_parameters(booster, args)
            try:
                return original(booster, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise

        return call

    def _wrap_update(self, original: Function) -> Function:
        """Wrap `Booster.update`, which scripts also call in loops of their own."""
        begins, ends = self._hook(self._begin_loop_round), self._hook(self._end_loop_round)
        note_rate = self._session.guard.shield(_LIBRARY, self._note_rate, None)
        counter, count, state = self._rounds.counter, self._count, self._session.state

        def call(booster: Any, dtrain: Any, *args: Any, **kwargs: Any) -> Any:
            is_own_loop = self._container() is None
            is_counted = is_own_loop and counter.subject() is booster
            is_counted = is_counted and state.is_on and not state.is_resting
            if is_own_loop and not is_counted:
                begins(booster, dtrain)
            try:
                result = original(booster, dtrain, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if is_counted:
                if self._may_have_new_rate:
                    note_rate()
                count()
            elif is_own_loop:
                ends()
            return result

        return call

    def _begin_round(
        self, container: Any, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        if self._container() is not container:
            self._container, self._lengths = weakref.ref(container), {}
            self._may_have_new_rate, self._set_rate = True, None
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
            self._rounds.begin_training(XGBoostModel(booster, dtrain, evals, is_custom=is_custom))
        self._rounds.begin_round()

    def _trees_grown(self) -> None:
        self._rate = self._new_rate()  # before callbacks set the rate of the next round
        self._rounds.trees_grown()

    def _end_round(self, container: Any) -> None:
        training = self._rounds.training
        if training is not None and self._container() is container:
            self._rounds.end_round(self._new_results(container.history), self._rate)
            self._rounds.count(self._container, partial(self._counted_results, container.history))

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
            self._may_have_new_rate, self._set_rate = True, None
            self._rounds.begin_training(XGBoostModel(booster, dtrain, ()))
        self._rounds.begin_round()

    def _end_loop_round(self) -> None:
        self._trees_grown()
        self._rounds.end_round({}, self._rate)
        self._rounds.count(self._loop_model, no_columns)

    def _note_parameters(self, booster: Any, args: tuple[Any, ...]) -> None:
        """Note that the script sets parameters, which may include the learning rate."""
        training = self._rounds.training
        if training is None or not training.model.is_of(booster):
            return
        is_single = len(args) == len(("name", "value")) and type(args[0]) is str
        if is_single and args[0] not in _RATES:
            return
        is_number = is_single and isinstance(args[1], float)
        self._set_rate = float(args[1]) if is_number else None
        self._may_have_new_rate = True

    def _note_rate(self) -> None:
        """Note the learning rate of a round that is only counted."""
        began_ns = thread_cpu_ns()
        rate = self._new_rate()
        if rate is not None:
            self._rounds.counter.note(rate)
        self._session.overhead.charge(thread_cpu_ns() - began_ns)

    def _new_rate(self) -> float | None:
        """The learning rate, if it may have changed."""
        training = self._rounds.training
        if training is None or not self._may_have_new_rate:
            return None
        self._may_have_new_rate = False
        set_rate, self._set_rate = self._set_rate, None
        if set_rate is not None:
            return set_rate  # reading all parameters takes a tenth of a millisecond
        rate = training.model.hyperparameters().get("learning_rate")
        return None if rate is None else float(rate)

    def _new_results(self, history: Mapping[str, Mapping[str, Sequence[Any]]]) -> Results:
        """The metrics that were added since the last round."""
        results: dict[str, dict[str, float]] = {}
        for name, metrics in history.items():
            for metric, values in metrics.items():
                if len(values) > self._lengths.get((name, metric), 0):
                    self._lengths[name, metric] = len(values)
                    results.setdefault(name, {})[metric] = _number(values[-1])
        return results

    def _counted_results(
        self,
        history: Mapping[str, Mapping[str, Sequence[Any]]],
        count: int,
        _results: Sequence[tuple[int, Any]],
    ) -> Columns:
        """The metrics of newly counted rounds, which XGBoost appends to its history."""
        columns: dict[str, dict[str, tuple[Sequence[int], Sequence[float]]]] = {}
        for name, metrics in history.items():
            for metric, values in metrics.items():
                begin = self._lengths.get((name, metric), 0)
                numbers = list(map(_number, values[begin : begin + count]))
                self._lengths[name, metric] = begin + len(numbers)
                columns.setdefault(name, {})[metric] = range(len(numbers)), numbers
        return columns


def _number(value: Any) -> float:
    """The value of a metric; `cv` has pairs of mean and spread."""
    return float(value[0] if isinstance(value, tuple) else value)


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


def _nothing() -> None:
    """A reference to nothing."""
