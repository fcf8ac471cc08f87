"""XGBoost: what the adapter records equals what XGBoost reports, and changes nothing."""

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xgboost
from sklearn.model_selection import cross_val_score

from sonde.hook.frameworks.xgboost import XGBoost
from tests.fakes.boosting import numbers, recorded_training, three_classes, two_classes
from tests.fakes.session import Recorded

BINARY = {"objective": "binary:logistic", "nthread": 1}


def matrices(rows: int = 300) -> tuple[xgboost.DMatrix, xgboost.DMatrix]:
    features, labels = two_classes(rows)
    first = 2 * rows // 3
    return (
        xgboost.DMatrix(features[:first], label=labels[:first]),
        xgboost.DMatrix(features[first:], label=labels[first:]),
    )


def details(recorded: Recorded, kind: str) -> list[dict[str, Any]]:
    return [json.loads(row["detail"]) for row in recorded.observations(kind)]


def test_losses_and_metrics_equal_those_of_xgboost() -> None:
    training, validation = matrices()
    reported: dict[str, dict[str, list[float]]] = {}
    parameters = {**BINARY, "eval_metric": ["auc", "logloss", "error"]}
    with recorded_training(XGBoost()) as recorded:
        xgboost.train(
            parameters,
            training,
            8,
            evals=[(training, "train"), (validation, "test")],
            evals_result=reported,
            verbose_eval=False,
        )

    assert list(recorded.scalars("loss").values()) == reported["train"]["logloss"]
    assert list(recorded.scalars("train/auc").values()) == reported["train"]["auc"]
    assert list(recorded.scalars("test/error").values()) == reported["test"]["error"]
    evaluations = recorded.observations("evaluation")
    assert [row["value"] for row in evaluations] == reported["test"]["logloss"]
    assert [row["step"] for row in evaluations] == list(range(1, 9))
    assert [facts["metrics"]["auc"] for facts in details(recorded, "evaluation")] == (
        reported["test"]["auc"]
    )


@pytest.mark.parametrize(
    ("objective", "data", "metric"),
    [
        ("binary:logistic", two_classes, "logloss"),
        ("multi:softprob", three_classes, "mlogloss"),
        ("multi:softmax", three_classes, "mlogloss"),
        ("reg:squarederror", numbers, "rmse"),
        ("reg:absoluteerror", numbers, "mae"),
    ],
)
def test_without_evaluation_sets_the_training_loss_is_computed(
    objective: str, data: Callable[[], tuple[Any, Any]], metric: str
) -> None:
    features, labels = data()
    weights = np.linspace(0.5, 2, len(labels))
    training = xgboost.DMatrix(features, label=labels, weight=weights)
    parameters = {"objective": objective, "eval_metric": metric, "nthread": 1}
    parameters |= {"num_class": 3} if metric == "mlogloss" else {}
    reported: dict[str, dict[str, list[float]]] = {}
    sets = [(training, "train")]
    xgboost.train(parameters, training, 5, evals=sets, evals_result=reported, verbose_eval=False)

    with recorded_training(XGBoost()) as recorded:
        xgboost.train(parameters, training, 5)

    losses = list(recorded.scalars("loss").values())
    assert losses == pytest.approx(reported["train"][metric], rel=1e-6)


@pytest.mark.parametrize(
    "parameters",
    [
        {"tree_method": "hist", "subsample": 0.5, "colsample_bynode": 0.5, "num_parallel_tree": 2},
        {"tree_method": "exact"},
        {"tree_method": "approx"},
        {"booster": "dart", "rate_drop": 0.3},
        {"booster": "gblinear"},
        {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.9]},
        {"objective": "rank:pairwise"},
    ],
    ids=str,
)
def test_models_are_identical_with_and_without_recording(parameters: dict[str, Any]) -> None:
    def train() -> bytes:
        training, validation = matrices()
        result = xgboost.train(
            {**BINARY, "seed": 1, **parameters}, training, 6, evals=[], verbose_eval=False
        )
        assert result.predict(validation).shape
        return pickle.dumps(result)

    alone = train()
    with recorded_training(XGBoost(), "all:values=true"):
        recorded = train()

    assert recorded == alone


def test_the_learning_rate_of_each_round_is_recorded() -> None:
    training, _ = matrices()
    schedule = xgboost.callback.LearningRateScheduler(lambda epoch: 0.5 / (epoch + 2))
    with recorded_training(XGBoost()) as recorded:
        xgboost.train({**BINARY, "eta": 0.3}, training, 4, callbacks=[schedule])

    # the callback sets the rate of the next round
    expected = {0: 0.3, 1: 0.25, 2: 0.5 / 3, 3: 0.125}
    assert recorded.scalars("learning_rate") == pytest.approx(expected)


def test_early_stopping_is_recorded_with_its_best_round() -> None:
    random = np.random.default_rng(0)
    training = xgboost.DMatrix(random.normal(size=(90, 4)), label=random.integers(0, 2, 90))
    validation = xgboost.DMatrix(random.normal(size=(60, 4)), label=random.integers(0, 2, 60))
    with recorded_training(XGBoost()) as recorded:
        model = xgboost.train(
            BINARY,
            training,
            100,
            evals=[(validation, "test")],
            early_stopping_rounds=3,
            verbose_eval=False,
        )

    [row] = recorded.observations("early-stopping")
    [facts] = details(recorded, "early-stopping")
    assert row["value"] == model.best_iteration
    assert facts == {
        "score": model.best_score,
        "rounds": model.best_iteration + 4,
        "is_stopped": True,
    }


def test_cross_validation_is_recorded_as_the_mean_of_its_folds() -> None:
    training, _ = matrices()
    with recorded_training(XGBoost()) as recorded:
        means = xgboost.cv(BINARY, training, 5, nfold=3, seed=1)

    assert list(recorded.scalars("loss").values()) == list(means["train-logloss-mean"])
    tested = [row["value"] for row in recorded.observations("evaluation")]
    assert tested == list(means["test-logloss-mean"])


def test_the_scikit_learn_classes_are_recorded() -> None:
    features, labels = two_classes()
    sets = [(features, labels), (features[:50], labels[:50])]
    model = xgboost.XGBClassifier(n_estimators=7, n_jobs=1, eval_metric="logloss")
    with recorded_training(XGBoost()) as recorded:
        model.fit(features, labels, eval_set=sets, verbose=False)

    reported = model.evals_result()
    assert list(recorded.scalars("loss").values()) == reported["validation_0"]["logloss"]
    evaluations = recorded.observations("evaluation")
    assert {row["subject"] for row in evaluations} == {"validation_1"}
    assert [row["value"] for row in evaluations] == reported["validation_1"]["logloss"]


def test_a_copy_of_the_training_data_counts_as_training_data() -> None:
    features, labels = two_classes()
    sets = [(features.copy(), labels.copy()), (features[:50], labels[:50])]
    model = xgboost.XGBClassifier(n_estimators=3, n_jobs=1)
    with recorded_training(XGBoost()) as recorded:
        model.fit(features, labels, eval_set=sets, verbose=False)

    assert {row["subject"] for row in recorded.observations("evaluation")} == {"validation_1"}
    reported = model.evals_result()["validation_0"]["logloss"]
    assert list(recorded.scalars("loss").values()) == reported


def test_every_training_of_a_script_is_told_apart() -> None:
    features, labels = two_classes(90)
    with recorded_training(XGBoost()) as recorded:
        cross_val_score(xgboost.XGBClassifier(n_estimators=4, n_jobs=1), features, labels, cv=3)

    starts = recorded.observations("new-optimizer")
    assert [(row["subject"], row["step"]) for row in starts] == [("1", 0), ("2", 4), ("3", 8)]
    assert list(recorded.scalars("loss")) == list(range(12))


def test_a_loop_that_updates_the_booster_itself_is_recorded() -> None:
    training, _ = matrices()
    with recorded_training(XGBoost()) as recorded:
        booster = xgboost.Booster(BINARY, [training])
        for number in range(5):
            booster.update(training, number)

    losses = recorded.scalars("loss")
    assert list(losses) == list(range(5))
    assert losses[4] < losses[0]


def test_a_callback_that_fails_does_not_disturb_the_next_training() -> None:
    class Failing(xgboost.callback.TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            raise ValueError("disk full")

    training, _ = matrices()
    with recorded_training(XGBoost()) as recorded:
        with pytest.raises(ValueError, match="disk full"):
            xgboost.train(BINARY, training, 3, callbacks=[Failing()])
        xgboost.train(BINARY, training, 3)

    assert recorded.session.steps.counts["train"] == 4


def test_the_five_kinds_of_importance_equal_those_of_xgboost() -> None:
    training, _ = matrices()
    training.feature_names = ["a", "b", "c", "d", "e", "f"]
    with recorded_training(XGBoost()) as recorded:
        model = xgboost.train(BINARY, training, 5)

    for kind in ("weight", "gain", "cover", "total_gain", "total_cover"):
        rows = [
            row
            for row in recorded.observations("feature-importance")
            if row["subject"] == f"feature_importance/{kind}"
        ]
        facts = json.loads(rows[-1]["detail"])
        scores = dict(zip(facts["names"], facts["values"], strict=True))
        assert scores == pytest.approx(model.get_score(importance_type=kind))
        assert (rows[-1]["step"], facts["features"]) == (4, 6)


def test_requested_collections_have_full_values() -> None:
    training, _ = matrices()
    saves = ("full_shap", "feature_importance", "hyperparameters", "labels", "predictions", "trees")
    lines = [f"{name}:values=true,every=4" for name in saves]
    with recorded_training(XGBoost(), *lines, needed=()) as recorded:
        model = xgboost.train({**BINARY, "max_depth": 3}, training, 5)

    values = recorded.values["train", 4]
    shap = model.predict(training, pred_contribs=True)
    np.testing.assert_array_equal(values["full_shap"], shap)
    np.testing.assert_array_equal(values["labels/train"], training.get_label())
    np.testing.assert_allclose(values["predictions/train"], model.predict(training), rtol=1e-6)
    assert values["feature_importance/gain"].shape == (6,)
    assert recorded.values["train", 0]["hyperparameters/max_depth"] == 3
    assert recorded.values["train", 0]["trees/depth"] <= 3
    assert set(recorded.values) == {("train", 0), ("train", 4)}


def test_confusion_counts_equal_those_of_the_predictions() -> None:
    training, validation = matrices()
    with recorded_training(XGBoost()) as recorded:
        model = xgboost.train(BINARY, training, 5, evals=[(validation, "test")], verbose_eval=False)

    latest = {
        row["subject"]: json.loads(row["detail"])
        for row in recorded.observations("prediction-quality")
    }
    predicted = (model.predict(validation) > 0.5).astype(int)
    labels = validation.get_label().astype(int)
    expected = [[int(((labels == a) & (predicted == b)).sum()) for b in (0, 1)] for a in (0, 1)]
    assert latest["test"]["confusion"] == expected
    assert latest["train"]["is_training_data"]
    assert latest["test"]["rows"] == 100


def test_an_objective_of_the_script_has_no_computed_loss() -> None:
    def squared(predictions: Any, data: Any) -> tuple[Any, Any]:
        return predictions - data.get_label(), np.ones_like(predictions)

    training, _ = matrices()
    with recorded_training(XGBoost()) as recorded:
        xgboost.train({"nthread": 1}, training, 3, obj=squared)

    assert recorded.scalars("loss") == {}
    assert recorded.session.steps.counts["train"] == 3
    assert "evaluation sets" in recorded.notices()["loss of train"]


def test_rounds_have_phases_and_hyperparameters() -> None:
    training, validation = matrices()
    with recorded_training(XGBoost()) as recorded:
        xgboost.train(
            {**BINARY, "max_depth": 4}, training, 3, evals=[(validation, "v")], verbose_eval=False
        )

    events = recorded.rows["events"]
    names = [row["name"] for row in events if row["step"] == 1 and row["mode"] == "train"]
    assert names == ["tree_growth", "evaluation", "step"]
    [facts] = details(recorded, "hyperparameters")
    assert facts["values"]["max_depth"] == "4"
    assert facts["values"]["objective"] == "binary:logistic"
    depths = [row["value"] for row in recorded.observations("trees")]
    assert max(depths) <= 4
