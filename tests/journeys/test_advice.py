"""Advice on CPU jobs: the right problem comes first, and its remedy brings the predicted gain.

`python -m benchmarks advice_cpu` compares more programs, for longer.
"""

import pytest

from benchmarks.advice_cpu import OFF_BY, PLANTED, SCRIPT, SECONDS, compare, first_item
from tests.journeys.sonde_cli import Sonde

pytestmark = pytest.mark.timeout(600)

QUICK = ("precision", "optimizer")


@pytest.mark.parametrize("program", QUICK)
def test_the_remedy_brings_the_predicted_gain(
    sonde: Sonde, torch_python: tuple[str, ...], program: str
) -> None:
    [planted] = [each for each in PLANTED if each.program == program]
    words = (*torch_python, SCRIPT, program, str(planted.knob))
    done = sonde.run("run", "--name", "job", *words, timeout=SECONDS)
    assert done.returncode == 0, done.stderr.decode()
    item = first_item(str(sonde.job_folder("job")))
    assert item is not None
    assert item.rule == planted.rule
    gain, measured = compare(planted, item)
    assert measured > 1
    assert 1 / OFF_BY < gain.speedup / measured < OFF_BY, (gain, measured)


def test_a_program_without_a_fault_gets_no_advice(
    sonde: Sonde, torch_python: tuple[str, ...]
) -> None:
    sonde.run("run", "--name", "job", *torch_python, SCRIPT, "precision", "32", timeout=SECONDS)
    assert first_item(str(sonde.job_folder("job"))) is None
