"""LightGBM: what the adapter records equals what LightGBM reports, and changes nothing."""

import json
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import pytest

from sonde.hook.frameworks.lightgbm import LightGBM
from tests.fakes.boosting import numbers, recorded_training, three_classes, two_classes

BINARY = {"objective": "binary", "num_threads": 1, "verbosity": -1, "min_data_in_leaf": 5}


def data_sets(rows: int = 300) -> tuple[lightgbm.Dataset, lightgbm.Dataset]:
    features, labels = two_classes(rows)
    first = 2 * rows // 3
    training = lightgbm.Dataset(features[:first], label=labels[:first])
    return training, training.create_valid(features[first:], label=labels[first:])


def test_losses_and_metrics_equal_those_of_lightgbm() -> None:
    training, validation = data_sets()
    reported: dict[str, Any] = {}
    with recorded_training(LightGBM()) as recorded:
        lightgbm.train(
            {**BINARY, "metric": ["auc", "binary_logloss"]},
            training,
            8,
            valid_sets=[training, validation],
            valid_names=["train", "test"],
            callbacks=[lightgbm.record_evaluation(reported)],
        )

    assert list(recorded.scalars("loss").values()) == reported["train"]["binary_logloss"]
    assert list(recorded.scalars("train/auc").values()) == reported["train"]["auc"]
    evaluations = recorded.observations("evaluation")
    assert [row["value"] for row in evaluations] == reported["test"]["binary_logloss"]
    assert [row["step"] for row in evaluations] == list(range(1, 9))


@pytest.mark.parametrize(
    ("objective", "data", "metric"),
    [
        ("binary", two_classes, "binary_logloss"),
        ("multiclass", three_classes, "multi_logloss"),
        ("regression", numbers, "l2"),
        ("regression_l1", numbers, "l1"),
    ],
)
def test_without_validation_sets_the_training_loss_is_computed(
    objective: str, data: Callable[[], tuple[Any, Any]], metric: str
) -> None:
    features, labels = data()
    parameters = {**BINARY, "objective": objective, "metric": metric}
    parameters |= {"num_class": 3} if objective == "multiclass" else {}
    reported: dict[str, Any] = {}
    training = lightgbm.Dataset(features, label=labels)
    record = lightgbm.record_evaluation(reported)
    lightgbm.train(parameters, training, 5, valid_sets=[training], callbacks=[record])

    with recorded_training(LightGBM()) as recorded:
        lightgbm.train(parameters, lightgbm.Dataset(features, label=labels), 5)

    losses = list(recorded.scalars("loss").values())
    assert losses == pytest.approx(reported["training"][metric], rel=1e-5)


@pytest.mark.parametrize(
    "parameters",
    [{"bagging_fraction": 0.5, "bagging_freq": 1}, {"boosting": "dart"}, {"boosting": "goss"}],
    ids=str,
)
def test_models_are_identical_with_and_without_recording(parameters: dict[str, Any]) -> None:
    def train() -> str:
        training, validation = data_sets()
        result = lightgbm.train(
            {**BINARY, "seed": 1, **parameters}, training, 6, valid_sets=[validation]
        )
        text: str = result.model_to_string()
        return text

    alone = train()
    with recorded_training(LightGBM(), "all:values=true"):
        recorded = train()

    assert recorded == alone


def test_early_stopping_and_changed_rates_are_recorded() -> None:
    random = np.random.default_rng(0)
    training = lightgbm.Dataset(random.normal(size=(90, 4)), label=random.integers(0, 2, 90))
    validation = training.create_valid(random.normal(size=(60, 4)), label=random.integers(0, 2, 60))
    callbacks = [
        lightgbm.early_stopping(3, verbose=False),
        lightgbm.reset_parameter(learning_rate=lambda number: 0.5 / (number + 1)),
    ]
    with recorded_training(LightGBM()) as recorded:
        model = lightgbm.train(BINARY, training, 100, valid_sets=[validation], callbacks=callbacks)

    [row] = recorded.observations("early-stopping")
    assert row["value"] == model.best_iteration - 1
    assert json.loads(row["detail"])["is_stopped"]
    rates = recorded.scalars("learning_rate")
    assert (rates[0], rates[1]) == (0.5, 0.25)


def test_the_scikit_learn_classes_are_recorded_one_after_the_other() -> None:
    features, labels = two_classes()
    with recorded_training(LightGBM()) as recorded:
        for _ in range(2):
            model = lightgbm.LGBMClassifier(n_estimators=4, n_jobs=1, verbosity=-1)
            model.fit(features, labels, eval_X=features[:50], eval_y=labels[:50])

    starts = recorded.observations("new-optimizer")
    assert [(row["subject"], row["step"]) for row in starts] == [("1", 0), ("2", 4)]
    assert list(recorded.scalars("loss")) == list(range(8))
    reported = list(next(iter(model.evals_result_.values()))["binary_logloss"])
    assert [row["value"] for row in recorded.observations("evaluation")][4:] == reported


def test_importance_trees_and_predictions_are_inspected() -> None:
    training, validation = data_sets()
    with recorded_training(LightGBM()) as recorded:
        model = lightgbm.train(BINARY, training, 5, valid_sets=[validation])

    rows = [
        row
        for row in recorded.observations("feature-importance")
        if row["subject"] == "feature_importance/total_gain"
    ]
    facts = json.loads(rows[-1]["detail"])
    gains = dict(zip(model.feature_name(), model.feature_importance("gain"), strict=True))
    assert dict(zip(facts["names"], facts["values"], strict=True)) == pytest.approx(
        {name: gain for name, gain in gains.items() if gain}
    )
    assert rows[-1]["step"] == 4
    assert {row["value"] for row in recorded.observations("trees")} != {0.0}
    latest = json.loads(recorded.observations("prediction-quality")[-1]["detail"])
    assert sum(map(sum, latest["confusion"])) == 100


def test_cross_validation_is_not_recorded_and_says_so() -> None:
    training, _ = data_sets()
    with recorded_training(LightGBM()) as recorded:
        lightgbm.cv(BINARY, training, 3, nfold=2)

    assert recorded.session.steps.counts["train"] == 0
    assert "lightgbm.cv" in recorded.notices()
