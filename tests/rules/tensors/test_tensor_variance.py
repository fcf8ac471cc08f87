"""TensorVariance: planted faults and their healthy twins."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_tensors


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("TensorVariance", **parameters)["TensorVariance"]


def test_variance_outside_its_bounds_is_reported() -> None:
    tensors = {
        "wide": ("weights", lambda _: [-9.0, 9.0]),
        "narrow": ("weights", lambda _: [-0.001, 0.001]),
        "normal": ("weights", lambda _: [-1.0, 1.0]),
        "single": ("weights", lambda _: [1.0]),
    }
    job = with_tensors(tensors, 60)
    result = check(job, max_threshold=10, min_threshold=0.01)
    assert {episode.finding.tensor for episode in result.episodes} == {"wide", "narrow"}
    assert check(job, max_threshold=10).episodes[0].finding.tensor == "wide"
    assert result.datapoints == 4 * len({0, 1, 2, 3, 5, 8, 12, 18, 27, 41})


def test_single_step_outside_the_bounds_is_not_reported() -> None:
    tensors = {"a": ("weights", lambda step: [-9.0, 9.0] if step == 3 else [-1.0, 1.0])}
    assert check(with_tensors(tensors, 60), max_threshold=10).episodes == ()


def test_rule_does_not_apply_without_bounds() -> None:
    result = check(with_tensors({"a": ("weights", lambda _: [1.0, 2.0])}, 20))
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert "set max_threshold or min_threshold" in (result.reason or "")


def test_classic_setting_follows_the_documented_criterion() -> None:
    tensors = {"a": ("weights", lambda step: [-float(step), float(step)])}
    job = with_tensors(tensors, 5, at=range(5))  # variances 0, 1, 4, 9, 16
    result = check(job, setting="classic", max_threshold=4, min_threshold=1)
    assert result.triggered == 3
    assert check(job, setting="classic", max_threshold=16, min_threshold=0).triggered == 0
    assert result.episodes[0].finding.evidence["variance"] == pytest.approx(16)


def test_only_selected_tensors_are_checked() -> None:
    wide = {
        "a": ("weights", lambda _: [-9.0, 9.0]),
        "b": ("gradients", lambda _: [-9.0, 9.0]),
        "c": ("inputs", lambda _: [-9.0, 9.0]),
    }
    job = with_tensors(wide, 60)
    chosen = check(job, max_threshold=10, collection_names=("gradients",), tensor_regex="^c$")
    assert {episode.finding.tensor for episode in chosen.episodes} == {"b", "c"}
    assert check(job, max_threshold=10, tensor_regex=["a", "b"]).triggered
