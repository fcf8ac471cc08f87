"""AllZero: planted faults and their healthy twins."""

from sonde.records.finding import Evaluation, RuleStatus
from sonde.records.need import Losses, Statistics
from sonde.rules.tensors.all_zero import AllZero
from tests.fakes.job import FakeJob
from tests.fakes.training import with_tensors


def judged(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("AllZero", **parameters)["AllZero"]


def zeros(_: int) -> list[float]:
    return [0.0] * 4


def some(_: int) -> list[float]:
    return [0.0, 0.0, 0.0, 1.0]


def test_a_chosen_tensor_of_noughts_is_found() -> None:
    tensors = {"gradient/a": ("gradients", zeros), "gradient/b": ("gradients", some)}
    [episode] = judged(with_tensors(tensors, 60), collection_names=("gradients",)).episodes
    assert episode.finding.message == "100% of the values of the gradient of a are zero."
    assert episode.is_open


def test_what_was_not_chosen_is_left_alone() -> None:
    tensors = {"a": ("inputs", zeros), "b": ("inputs", some)}
    result = judged(with_tensors(tensors, 60), tensor_regex="^b$")
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_start_from_nought_is_no_fault() -> None:
    tensors = {"a": ("weights", lambda step: [0.0, 0.0] if step == 0 else [0.1, 0.0])}
    assert judged(with_tensors(tensors, 60), collection_names=("weights",)).episodes == ()


def test_it_says_that_nobody_has_chosen() -> None:
    result = judged(with_tensors({"a": ("weights", zeros)}, 20))
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert result.reason == "set collection_names or tensor_regex to select tensors"


def test_what_was_chosen_is_what_has_to_be_recorded() -> None:
    assert AllZero(collection_names=("inputs", "losses")).needed == (
        *(Statistics("inputs"), Losses()),
    )
    assert AllZero(tensor_regex="x").needed == (Statistics("all"),)
    assert AllZero().needed == ()


def test_classic_is_the_criterion_to_the_letter() -> None:
    tensors = {"a": ("weights", lambda step: [0.0] * (step + 1) + [1.0] * (3 - step))}
    job = with_tensors(tensors, 4, at=range(4))  # 25, 50, 75, 100 % noughts
    chosen = {"setting": "classic", "tensor_regex": "a"}
    assert judged(job, **chosen).triggered == 1
    assert judged(job, **chosen, threshold=75).triggered == 2
