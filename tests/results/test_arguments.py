"""Wrong arguments of queries are errors of one line that show what is right."""

from collections.abc import Callable
from typing import Any

import pytest

from sonde.client.job import Job
from sonde.errors import UsageError
from tests.fakes.training import with_tensors


@pytest.fixture
def job() -> Job:
    tensors = {
        "fc1.weight": ("weights", lambda step: [1.0, 2.0 + step]),
        "gradient/fc1.weight": ("gradients", lambda _: [0.5, 0.25]),
    }
    return with_tensors(tensors, 3, scalars={"loss": lambda _: 1.0, "lr": lambda _: 0.1}).job()


WRONG: dict[str, tuple[Callable[[Any], object], str]] = {
    "a single quantile": (
        lambda job: job.tensor("fc1.weight").quantiles(0.5),
        r"at = 0.5 must be a list of numbers, such as \[0.5\]",
    ),
    "a quantile above 1": (
        lambda job: job.tensor("fc1.weight").quantiles([5]),
        r"at = \[5\] must be between 0 and 1",
    ),
    "a single step of a range": (
        lambda job: job.python(steps=9),
        r"steps = 9 must be a pair: .* such as steps=\(9, 10\)",
    ),
    "a range of texts": (
        lambda job: job.events(steps=("1", "2")),
        "steps = '1' must be an integer",
    ),
    "a step as text": (
        lambda job: job.tensor("fc1.weight").value("2"),
        "step = '2' must be an integer",
    ),
    "a first step as text": (lambda job: job.steps(start_step="2"), "'2' must be an integer"),
    "a number as name": (lambda job: job.tensor(3), "tensor 3 must be a string in quotes"),
    "a number as pattern": (lambda job: job.tensors(3), "tensor 3 must be a string in quotes"),
    "an unknown mode of a tensor": (
        lambda job: job.tensor("fc1.weight").steps("trian"),
        "Unknown mode 'trian'. Did you mean 'train'?",
    ),
    "an unknown reduction": (
        lambda job: job.tensor("fc1.weight").reduction("l2_nrm"),
        "Unknown reduction 'l2_nrm'. Did you mean 'l2_norm'?",
    ),
    "the reduction of the old client": (
        lambda job: job.tensor("fc1.weight").reduction("l2"),
        "Unknown reduction 'l2'. Did you mean 'l2_norm'?",
    ),
    "a scalar as tensor": (
        lambda job: job.tensor("loss"),
        "'loss' is a scalar, not a tensor. Use job.losses.",
    ),
    "another scalar as tensor": (
        lambda job: job.tensor("lr"),
        r"'lr' is a scalar, not a tensor. Use job.scalars\('lr'\).",
    ),
    "a name with the model's class": (
        lambda job: job.tensor("gradient/Net_fc1.weight"),
        "Did you mean 'gradient/fc1.weight'. Names start with the class of the model only if",
    ),
    "a step without a reduction": (
        lambda job: job.tensor("fc1.weight").reduction_value(9, "mean"),
        "No mean of 'fc1.weight' at step 9. Recorded steps: 0, 1, 2",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_an_error_that_shows_what_is_right(name: str, job: Job) -> None:
    ask, message = WRONG[name]
    with pytest.raises(UsageError, match=message) as error:
        ask(job)
    assert "\n" not in str(error.value)


def test_a_reduction_at_one_step_is_one_call(job: Job) -> None:
    tensor = job.tensor("fc1.weight")
    assert tensor.reduction_value(2, "max") == 4.0
    assert tensor.reduction_value(0, "mean", mode="ModeKeys.TRAIN", worker=0) == 1.5


def test_modes_have_any_case(job: Job) -> None:
    assert job.tensor("fc1.weight").steps("TRAIN") == [0, 1, 2]
    assert len(job.steps("modes.TRAIN")) == 3


def test_a_pattern_is_a_glob_or_else_a_regular_expression(job: Job) -> None:
    assert job.tensors("*fc1*").names == ("fc1.weight", "gradient/fc1.weight")
    assert "expression" not in repr(job.tensors("*fc1*"))
    assert job.tensors(r"^fc\d").names == ("fc1.weight",)
    note = r"'^fc\\d' is read as a regular expression: no name matches it as a glob."
    assert repr(job.tensors(r"^fc\d")).endswith(note)
    assert job.scalars("lo|lr").names == ("loss", "lr")
    assert "'lo|lr' is read as a regular expression" in repr(job.scalars("lo|lr"))
    assert len(job.events("^for")) == 3
    assert "'^for' is read as a regular expression" in repr(job.events("^for"))
    assert job.tensors("n*").names == job.tensors("fc2.*").names == ()
    assert job.tensors("(").names == job.tensors("fc").names == ()
