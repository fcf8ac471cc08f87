"""SimilarAcrossRuns: planted faults and their healthy twins."""

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_tensors


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("SimilarAcrossRuns", **parameters)["SimilarAcrossRuns"]


def trained(seed: int, rate: float = 0.1, steps: int = 40) -> FakeJob:
    begin = np.random.default_rng(seed).standard_normal(16)

    def weights(step: int) -> FloatArray:
        return np.asarray(begin * (1 - rate * step / 100))

    def gradients(step: int) -> FloatArray:
        return np.asarray(rate * weights(step))

    def inputs(_: int) -> FloatArray:
        return np.array([1.0, 2.0])

    tensors = {
        "a": ("weights", weights),
        "gradient/a": ("gradients", gradients),
        "x": ("inputs", inputs),
    }
    return with_tensors(tensors, steps)


def test_repeated_training_is_reported() -> None:
    second = trained(0)
    [episode] = check(trained(0), other_trial=second.backend.uri).episodes
    assert episode.finding.evidence["tensors"] == ["a", "gradient/a"]
    assert (episode.first_step, episode.is_open) == (0, True)


def test_same_seed_with_another_learning_rate_is_not_reported() -> None:
    result = check(trained(0, rate=0.1), other_trial=trained(0, rate=0.2).backend.uri)
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_only_selected_tensors_are_compared() -> None:
    chosen = {"other_trial": trained(1).backend.uri, "collection_names": ("inputs",)}
    assert check(trained(0), **chosen).episodes[0].finding.tensor == "x"
    assert check(trained(0), **(chosen | {"collection_names": ("weights",)})).episodes == ()


def test_two_common_steps_are_not_enough_data() -> None:
    second = trained(0, steps=2).backend.uri
    result = check(trained(0), other_trial=second)
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 2 of 3 steps recorded in both jobs"


def test_rule_does_not_apply_without_another_job() -> None:
    result = check(trained(0))
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert result.reason == "set other_trial to the job to compare with"


def test_missing_job_is_an_error() -> None:
    result = check(trained(0), other_trial="memory://nowhere/job")
    assert result.status is RuleStatus.ERROR
    assert "nowhere" in (result.reason or "")


@pytest.mark.parametrize(("rate", "triggered"), [(0.1, 2 * 9), (0.2, 1)])
def test_classic_setting_follows_the_documented_criterion(rate: float, triggered: int) -> None:
    # nine inspections of two tensors; with another rate, only the first weights are equal
    result = check(trained(0, rate), setting="classic", other_trial=trained(0).backend.uri)
    assert result.triggered == triggered


def test_several_jobs_are_compared_each_for_itself() -> None:
    same, different = trained(0).backend.uri, trained(1).backend.uri
    [episode] = check(trained(0), other_trials=(different, same)).episodes
    assert f"as in {same}" in episode.finding.message
