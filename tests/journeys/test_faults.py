"""A few of the fault programs: faults are reported, healthy runs raise no alarm.

Held-out programs are excluded, since they are judged only once. `make faults` runs all.
"""

from pathlib import Path

import pytest

from tests.faults.catalog import PROGRAMS
from tests.faults.judging import judge
from tests.faults.program import Program, Variant
from tests.faults.recordings import Run

_FAULTS = ("detached_branch", "zero_grad_forgotten", "softmax_twice", "one_broken_batch")
_HEALTHY = ("detached_branch", "rebuilds_then_names", "master_weights")


def programs_named(*names: str) -> list[Program]:
    by_name = {program.name: program for program in PROGRAMS}
    return [by_name[name] for name in names]


@pytest.mark.parametrize("program", programs_named(*_FAULTS), ids=lambda program: program.name)
def test_a_planted_fault_is_reported_with_its_culprit(
    program: Program, torch_python: tuple[str, ...], tmp_path: Path
) -> None:
    outcome = judge(Run(program, Variant.FAULTY, 0), tmp_path, python=torch_python)
    assert outcome.errors == ()
    assert outcome.is_named, outcome.alarms


@pytest.mark.parametrize("program", programs_named(*_HEALTHY), ids=lambda program: program.name)
def test_a_healthy_run_raises_no_alarm(
    program: Program, torch_python: tuple[str, ...], tmp_path: Path
) -> None:
    outcome = judge(Run(program, Variant.HEALTHY, 0), tmp_path, python=torch_python)
    assert outcome.errors == ()
    assert outcome.loud == ()
