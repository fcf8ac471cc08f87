"""AllZero: planted faults and their healthy twins."""

from sonde.records.finding import Evaluation, RuleStatus
from sonde.records.need import Losses, Statistics
from sonde.rules.tensors.all_zero import AllZero
from tests.fakes.job import FakeJob
from tests.fakes.training import with_tensors


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("AllZero", **parameters)["AllZero"]


def zeros(_: int) -> list[float]:
    return [0.0] * 4


def mostly_zeros(_: int) -> list[float]:
    return [0.0, 0.0, 0.0, 1.0]


def test_selected_tensor_of_zeros_is_reported() -> None:
    tensors = {"gradient/a": ("gradients", zeros), "gradient/b": ("gradients", mostly_zeros)}
    [episode] = check(with_tensors(tensors, 60), collection_names=("gradients",)).episodes
    assert episode.finding.message == "100% of the values of the gradient of a are zero."
    assert episode.is_open


def test_tensors_that_are_not_selected_are_not_reported() -> None:
    tensors = {"a": ("inputs", zeros), "b": ("inputs", mostly_zeros)}
    result = check(with_tensors(tensors, 60), tensor_regex="^b$")
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_zeros_at_the_first_step_only_are_not_reported() -> None:
    tensors = {"a": ("weights", lambda step: [0.0, 0.0] if step == 0 else [0.1, 0.0])}
    assert check(with_tensors(tensors, 60), collection_names=("weights",)).episodes == ()


def test_rule_does_not_apply_without_selected_tensors() -> None:
    result = check(with_tensors({"a": ("weights", zeros)}, 20))
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert result.reason == "set collection_names or tensor_regex to select tensors"


def test_selected_tensors_are_needed() -> None:
    assert AllZero(collection_names=("inputs", "losses")).needed == (
        *(Statistics("inputs"), Losses()),
    )
    assert AllZero(tensor_regex="x").needed == (Statistics("all"),)
    assert AllZero().needed == ()


def test_classic_setting_follows_the_documented_criterion() -> None:
    tensors = {"a": ("weights", lambda step: [0.0] * (step + 1) + [1.0] * (3 - step))}
    job = with_tensors(tensors, 4, at=range(4))  # 25, 50, 75, 100 % zeros
    selection = {"setting": "classic", "tensor_regex": "a"}
    assert check(job, **selection).triggered == 1
    assert check(job, **selection, threshold=75).triggered == 2
