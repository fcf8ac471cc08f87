"""Rounds that are only counted: exact steps and losses at a few function calls per round."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost

import sonde
import sonde.hook.boosting.results as results_module
import sonde.hook.rest_schedule as schedule_module
import sonde.hook.round_counter as counter_module
from sonde.hook.budget import Budget
from sonde.hook.frameworks.lightgbm import LightGBM
from sonde.hook.frameworks.xgboost import XGBoost
from sonde.records.step import UNTIMED_DETAIL
from tests.fakes.boosting import recorded_training, two_classes
from tests.fakes.session import Recorded

ROUNDS = 120
INTERVAL = 20  # rounds from one that is recorded by itself to the next
_PACKAGE = str(Path(sonde.__file__).parent)
AfterRound = Callable[[int], None]


@pytest.fixture(autouse=True)
def spent_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count rounds as soon as possible, with a recorded round in between."""
    monkeypatch.setattr(Budget, "records_every_step", False)
    monkeypatch.setattr(Budget, "steps_until_inspection", lambda *_: INTERVAL)
    monkeypatch.setattr(Budget, "has_room_for_inspection", True)
    monkeypatch.setattr(schedule_module, "_MAX_DELAY_NS", 10**15)
    monkeypatch.setattr(counter_module, "_RECORDED_ROUND_NS", 10**15)


@dataclass
class Library:
    """A library, and how scripts train with it."""

    name: str
    adapter: Callable[[], Any]
    train: Callable[..., tuple[str, dict[str, Any]]]
    loop: Callable[[int], None]  # calls `update` itself

    @contextmanager
    def recorded(self, **settings: Any) -> Iterator[Recorded]:
        with recorded_training(self.adapter(), needed=(), **settings) as recorded:
            yield recorded


def _matrices() -> tuple[Any, Any, Any, Any]:
    features, labels = two_classes()
    return features[:200], labels[:200], features[200:], labels[200:]


@dataclass(eq=False)
class AfterXGBoost(xgboost.callback.TrainingCallback):  # type: ignore[misc]
    call: AfterRound
    rates: dict[int, float] = field(default_factory=dict)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.call(epoch)
        if epoch in self.rates:
            model.set_param("learning_rate", self.rates[epoch])
        return False


def _xgboost(
    after: AfterRound = lambda _: None, rates: dict[int, float] | None = None
) -> tuple[str, dict[str, Any]]:
    features, labels, others, answers = _matrices()
    training = xgboost.DMatrix(features, label=labels)
    validation = xgboost.DMatrix(others, label=answers)
    reported: dict[str, Any] = {}
    model = xgboost.train(
        {"objective": "binary:logistic", "nthread": 1, "eval_metric": ["auc", "logloss"]},
        training,
        ROUNDS,
        evals=[(training, "train"), (validation, "test")],
        evals_result=reported,
        verbose_eval=False,
        callbacks=[AfterXGBoost(after, rates or {})],
    )
    return str(model.save_raw("json")), reported


def _lightgbm(
    after: AfterRound = lambda _: None, rates: dict[int, float] | None = None
) -> tuple[str, dict[str, Any]]:
    features, labels, others, answers = _matrices()
    training = lightgbm.Dataset(features, label=labels)
    reported: dict[str, Any] = {}
    changed = rates or {}

    def adjust(env: Any) -> None:
        after(env.iteration)
        if env.iteration in changed:
            env.model.reset_parameter({"learning_rate": changed[env.iteration]})

    model = lightgbm.train(
        {
            "objective": "binary",
            "num_threads": 1,
            "verbosity": -1,
            "min_data_in_leaf": 5,
            "metric": ["auc", "binary_logloss"],
        },
        training,
        ROUNDS,
        valid_sets=[training, training.create_valid(others, label=answers)],
        valid_names=["train", "test"],
        callbacks=[lightgbm.record_evaluation(reported), adjust],
    )
    for values in reported.values():
        values["logloss"] = values["binary_logloss"]
    return model.model_to_string(), reported


def _xgboost_loop(rounds: int) -> None:
    features, labels, *_ = _matrices()
    training = xgboost.DMatrix(features, label=labels)
    booster = xgboost.Booster({"objective": "binary:logistic", "nthread": 1}, [training])
    for number in range(rounds):
        booster.update(training, number)


def _lightgbm_loop(rounds: int) -> None:
    features, labels, *_ = _matrices()
    parameters = {"objective": "binary", "num_threads": 1, "verbosity": -1}
    booster = lightgbm.Booster(parameters, lightgbm.Dataset(features, label=labels))
    for _ in range(rounds):
        booster.update()


LIBRARIES = (
    Library("xgboost", XGBoost, _xgboost, _xgboost_loop),
    Library("lightgbm", LightGBM, _lightgbm, _lightgbm_loop),
)


@pytest.fixture(params=LIBRARIES, ids=lambda library: library.name)
def library(request: pytest.FixtureRequest) -> Library:
    found: Library = request.param
    return found


def untimed_steps(recorded: Recorded) -> list[int]:
    """The steps that were only counted."""
    rows = [row for row in recorded.rows["events"] if row["category"] == "step"]
    return [row["step"] for row in rows if row["detail"] == UNTIMED_DETAIL]


def test_counted_rounds_have_exact_steps_losses_metrics_and_evaluations(library: Library) -> None:
    with library.recorded() as recorded:
        _, reported = library.train()

    assert len(untimed_steps(recorded)) > ROUNDS / 2
    assert recorded.session.steps.counts["train"] == ROUNDS
    steps = list(range(ROUNDS))
    assert recorded.scalars("loss") == dict(zip(steps, reported["train"]["logloss"], strict=True))
    assert recorded.scalars("test/auc") == dict(zip(steps, reported["test"]["auc"], strict=True))
    evaluations = recorded.observations("evaluation")
    assert [row["step"] for row in evaluations] == list(range(1, ROUNDS + 1))
    assert [row["value"] for row in evaluations] == reported["test"]["logloss"]


def test_rounds_are_not_counted_after_an_inspected_round(library: Library) -> None:
    with recorded_training(library.adapter()) as recorded:
        library.train()

    inspected = {row["step"] for row in recorded.observations("prediction-quality")}
    untimed = set(untimed_steps(recorded))
    assert len(untimed) > ROUNDS / 2
    # their phases are estimated from the round before, which must not contain an inspection
    assert not {step + 1 for step in inspected} & untimed


def test_counted_rounds_follow_each_other_without_gaps(library: Library) -> None:
    with library.recorded() as recorded:
        library.train()

    rows = [row for row in recorded.rows["events"] if row["category"] == "step"]
    rows.sort(key=lambda row: row["step"])
    assert [row["step"] for row in rows] == list(range(ROUNDS))
    ends = [row["start_ns"] + row["duration_ns"] for row in rows]
    assert [row["start_ns"] for row in rows[1:]] == ends[:-1]
    assert min(row["duration_ns"] for row in rows) > 0


def test_models_are_identical_with_counted_rounds(library: Library) -> None:
    alone = library.train()
    with library.recorded():
        recorded = library.train()

    assert recorded == alone


def test_learning_rates_of_counted_rounds_are_recorded(library: Library) -> None:
    with library.recorded() as recorded:
        library.train(rates={49: 0.05, 50: 0.025})

    rates = recorded.scalars("learning_rate")
    assert {50, 51} & set(untimed_steps(recorded))
    assert list(rates) == [0, 50, 51]
    assert (rates[50], rates[51]) == (0.05, 0.025)


def test_a_loop_of_the_script_is_counted_to_its_last_round(library: Library) -> None:
    with library.recorded() as recorded:
        library.loop(ROUNDS)

    assert len(untimed_steps(recorded)) > ROUNDS / 2
    assert recorded.session.steps.counts["train"] == ROUNDS


def test_with_little_budget_metrics_are_thinned_and_losses_are_not(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results_module, "_MIN_EVALUATED", 0)
    monkeypatch.setattr(results_module, "_EVALUATION_SHARE", 1e-9)
    with library.recorded() as recorded:
        _, reported = library.train()

    assert list(recorded.scalars("loss").values()) == reported["train"]["logloss"]
    evaluated = [row["step"] for row in recorded.observations("evaluation")]
    assert len(evaluated) < ROUNDS / 4
    assert evaluated[-1] == ROUNDS
    assert "recorded for about 1 in" in recorded.notices()["metrics and evaluations"]


def test_without_other_metrics_nothing_is_reported_as_thinned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(results_module, "_MIN_EVALUATED", 0)
    monkeypatch.setattr(results_module, "_EVALUATION_SHARE", 1e-9)
    features, labels, *_ = _matrices()
    training = xgboost.DMatrix(features, label=labels)
    sets, parameters = [(training, "train")], {"objective": "binary:logistic", "nthread": 1}
    with recorded_training(XGBoost(), needed=()) as recorded:
        xgboost.train(parameters, training, ROUNDS, evals=sets, verbose_eval=False)

    assert list(recorded.scalars("loss")) == list(range(ROUNDS))
    assert "metrics and evaluations" not in recorded.notices()


def test_counted_rounds_of_cross_validation_have_the_means_of_the_folds() -> None:
    features, labels, *_ = _matrices()
    training = xgboost.DMatrix(features, label=labels)
    with recorded_training(XGBoost(), needed=()) as recorded:
        means = xgboost.cv(
            {"objective": "binary:logistic", "nthread": 1}, training, ROUNDS, nfold=3, seed=1
        )

    assert len(untimed_steps(recorded)) > ROUNDS / 2
    assert list(recorded.scalars("loss").values()) == list(means["train-logloss-mean"])
    tested = [row["value"] for row in recorded.observations("evaluation")]
    assert tested == list(means["test-logloss-mean"])


def test_a_failing_callback_keeps_the_counted_rounds(library: Library) -> None:
    def fail(number: int) -> None:
        if number == 50:
            raise ValueError("disk full")

    with library.recorded() as recorded, pytest.raises(ValueError, match="disk full"):
        library.train(fail)

    assert list(recorded.scalars("loss")) == list(range(51))


def test_values_logged_in_a_counted_round_belong_to_it(library: Library) -> None:
    with library.recorded() as recorded:
        session = recorded.session
        log = session.hook("test", lambda number: session.recorder.scalar("mine", number), None)
        library.train(log)

    logged = recorded.scalars("mine")
    assert list(logged) == [int(number) for number in logged.values()]


def test_a_pause_leaves_out_its_rounds(library: Library) -> None:
    with library.recorded() as recorded:
        actions = {50: recorded.session.pause, 60: recorded.session.resume}
        library.train(lambda number: actions.get(number, int)())

    assert ROUNDS - 13 <= recorded.session.steps.counts["train"] <= ROUNDS - 9


def test_with_stop_on_non_finite_every_round_is_recorded(library: Library) -> None:
    with library.recorded(stop_on_non_finite=True) as recorded:
        library.train()

    assert untimed_steps(recorded) == []


def test_an_infinite_loss_of_a_counted_round_is_reported() -> None:
    reported: list[tuple[str, int]] = []

    def diverge(predictions: Any, data: Any) -> tuple[str, float]:
        return "custom-loss", np.inf if data.num_row() == 200 and len(calls) > 100 else 1.0

    calls: list[int] = []
    features, labels, *_ = _matrices()
    training = xgboost.DMatrix(features, label=labels)
    with recorded_training(XGBoost(), needed=()) as recorded:
        recorded.session.listeners.on_non_finite(
            lambda name, _value, at: reported.append((name, at[1]))
        )
        xgboost.train(
            {"objective": "binary:logistic", "nthread": 1, "disable_default_eval_metric": True},
            training,
            ROUNDS,
            evals=[(training, "train")],
            custom_metric=diverge,
            verbose_eval=False,
            callbacks=[AfterXGBoost(calls.append)],
        )

    assert reported == [("loss", number) for number in range(101, ROUNDS)]


def test_a_counted_round_calls_few_functions_of_sonde(library: Library) -> None:
    counts: list[int] = []
    calls = 0

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename.startswith(_PACKAGE)

    def after_round(_number: int) -> None:
        nonlocal calls
        counts.append(calls)
        calls = 0

    with library.recorded():
        sys.setprofile(profile)
        try:
            library.train(after_round)
        finally:
            sys.setprofile(None)

    # XGBoost: around `before_iteration`, `update` and `after_iteration`, and the end of the round;
    # LightGBM: around `update` and two evaluations, and the end of the round
    assert median(counts) == 4
