"""Rules defined as functions with `@sonde.rule`."""

from collections.abc import Iterator

import numpy as np
import pytest

import sonde
from sonde.errors import UsageError
from sonde.read.window import Window
from sonde.rules._parameters import ParameterPage, build_rule, describe_parameters
from sonde.rules._rule import Rule, State
from tests.fakes.training import with_losses


@sonde.rule(sonde.Losses(), window_steps=10, explains=("LossSpike",))
def loss_too_large(
    rule: Rule, window: Window, state: State, *, limit: float = 2.0
) -> Iterator[sonde.Finding]:
    """The loss is larger than a limit.

    What to do: train better.
    """
    state["seen"] = state.get("seen", 0) + 1
    for curve in window.losses():
        for step, value in curve:
            if value > limit:
                yield rule.finding(f"The loss is {value:g}.", step=step, subject="loss")


@pytest.mark.parametrize(
    ("value", "limit", "expected"), [(3.0, 2.0, 1), (3.0, 4.0, 0), (1.0, 2.0, 0)]
)
def test_a_function_rule_runs_with_its_parameters(
    value: float, limit: float, expected: int
) -> None:
    job = with_losses(np.full(20, value)).job()
    judgement = job.check(loss_too_large, limit=limit)
    assert len(judgement.findings) == expected
    assert judgement["LossTooLarge"].parameters == {"limit": limit}


def test_name_documentation_and_parameters_come_from_the_function() -> None:
    assert loss_too_large.name() == "LossTooLarge"
    assert loss_too_large.pages().question == "The loss is larger than a limit."
    assert loss_too_large.pages().advice == "train better."
    assert describe_parameters(loss_too_large) == [ParameterPage("limit", "a number", "2", "2")]
    assert loss_too_large.window_steps == 10
    assert loss_too_large.explains == ("LossSpike",)


def test_a_wrong_parameter_is_an_error_that_names_it() -> None:
    with pytest.raises(UsageError, match=r"LossTooLarge\.limit = 'much' must be a number"):
        build_rule(loss_too_large, {"limit": "much"})


def test_wrong_arguments_of_the_function_are_an_error() -> None:
    def odd(window: Window) -> Iterator[sonde.Finding]:
        yield from ()

    with pytest.raises(UsageError, match=r"odd takes \(window\)"):
        sonde.rule()(odd)


def test_a_parameter_without_a_default_is_an_error() -> None:
    def odd(rule: Rule, window: Window, state: State, *, limit: float) -> Iterator[sonde.Finding]:
        yield from ()

    with pytest.raises(UsageError, match="limit of the rule odd needs a type and a default"):
        sonde.rule()(odd)
