"""A few of the programs, really trained: faults are named, their twins and hard negatives are not.

None that is held out: those are not looked at every day. All: `make faults`.
"""

from pathlib import Path

import pytest

from tests.faults.catalogue import PROGRAMS
from tests.faults.judging import judge
from tests.faults.program import Program, Variant
from tests.faults.recordings import Run

_BY_NAME = {one.name: one for one in PROGRAMS}

_FAULTS = ("detached_branch", "zero_grad_forgotten", "softmax_twice", "one_broken_batch")
_HEALTHY = ("detached_branch", "rebuilds_then_names", "exact_weights_beside")


def _named(*names: str) -> list[Program]:
    return [_BY_NAME[name] for name in names]


@pytest.mark.parametrize("program", _named(*_FAULTS), ids=lambda one: one.name)
def test_a_planted_fault_is_named(program: Program, tmp_path: Path) -> None:
    outcome = judge(Run(program, Variant.FAULTY, 0), tmp_path)
    assert outcome.errors == ()
    assert outcome.is_named, outcome.alarms


@pytest.mark.parametrize("program", _named(*_HEALTHY), ids=lambda one: one.name)
def test_nothing_is_said_of_a_healthy_run(program: Program, tmp_path: Path) -> None:
    outcome = judge(Run(program, Variant.HEALTHY, 0), tmp_path)
    assert outcome.errors == ()
    assert outcome.loud == ()
