"""FeatureLeakage: planted faults and their healthy twins."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob
from tests.rules.trees.boosted import boosted_job, classes, importance

GAIN = "feature_importance/total_gain"
LEAKED = importance([960.0, 20.0, 10.0, 5.0, 5.0], GAIN)
SHARED = importance([500.0, 300.0, 100.0, 50.0, 50.0], GAIN)
PERFECT = classes([[499, 1], [0, 500]], auc=0.9999)


def check(job: FakeJob) -> Evaluation:
    return job.job().check("FeatureLeakage")["FeatureLeakage"]


def test_a_feature_that_explains_everything_is_named() -> None:
    [episode] = check(boosted_job(PERFECT, LEAKED)).episodes
    assert episode.finding.severity is Severity.WARNING
    assert episode.finding.message == (
        "feature 0 holds 96% of the total gain of 5 features, and predictions for validation are "
        "nearly perfect (AUC 0.9999)."
    )
    assert episode.first_step == 2


@pytest.mark.parametrize(
    "inspect",
    [
        (PERFECT, SHARED),  # an easy problem with several informative features
        (classes([[400, 100], [90, 410]], auc=0.9), LEAKED),  # one strong but imperfect feature
        (
            classes([[400, 100], [90, 410]], auc=0.9),
            classes([[5, 0], [0, 5]], "train", 1.0),
            LEAKED,
        ),
        (PERFECT, importance([99.0, 1.0], GAIN)),  # two features
    ],
)
def test_similar_healthy_models_are_not_reported(inspect: tuple[object, ...]) -> None:
    assert check(boosted_job(*inspect)).episodes == ()  # type: ignore[arg-type]


def test_few_inspections_are_not_enough_data() -> None:
    result = check(boosted_job(PERFECT, LEAKED, rounds=2))
    assert (result.status, result.episodes) == (RuleStatus.NOT_ENOUGH_DATA, ())
