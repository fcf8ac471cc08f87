"""Advice on CPU jobs: the right problem comes first, and its remedy brings the predicted gain.

The machine may be busy, so each program alternates between its slow and its remedied setting in one
process. Predictions must be right within a factor of two, and no remedy may make a job slower.
"""

import re
import subprocess
from pathlib import Path

import pytest

from sonde.client.job import open_job
from sonde.records.advice import AdviceItem, Gain
from tests.journeys.sonde_cli import PYTHON, Sonde

pytestmark = pytest.mark.timeout(600)

SCRIPT = str(Path(__file__).parent / "advised_training.py")
SECONDS = 300  # a busy machine may take this long
OFF_BY = 2.0


def first_item(sonde: Sonde, program: str, knob: int) -> AdviceItem:
    """Record a program and return the first advice on it.

    Other work on this machine is no fault of the program, so advice on it is ignored.
    """
    words = ("run", "--name", "job", PYTHON, SCRIPT, program, str(knob))
    done = sonde.run(*words, timeout=SECONDS)
    assert done.returncode == 0, done.stderr.decode()
    items = open_job(str(sonde.job_folder("job"))).advice().items
    return next(item for item in items if item.rule != "CPUContention")


def measured_speedup(program: str, *knobs: int) -> float:
    """Alternate between two settings of a program in one process, without Sonde."""
    words = (PYTHON, SCRIPT, program, *map(str, knobs))
    done = subprocess.run(words, check=True, capture_output=True, timeout=SECONDS)
    slow, remedied = map(float, done.stdout.split())
    return slow / remedied


def prediction(item: AdviceItem, title: str) -> tuple[Gain, int]:
    """Return the gain of a remedy and the setting that its title advises."""
    remedy = next(each for each in item.remedies if re.search(title, each.title))
    assert remedy.gain is not None
    number = re.search(r"[0-9][0-9,]*", remedy.title)
    return remedy.gain, int(number[0].replace(",", "")) if number else 1


@pytest.mark.parametrize(
    ("program", "knob", "rule", "title"),
    [
        ("printing", 1, "SlowLogging", "output at every"),
        ("checkpoints", 5, "SlowCheckpoints", "as rarely"),
        ("evaluation", 5, "FrequentEvaluation", "evaluating every"),
        ("loading", 0, "DataLoaderStarvation", "num_workers"),
        ("precision", 64, "DoublePrecision", "float32"),
        ("optimizer", 0, "UnfusedOptimizer", "fused AdamW"),
    ],
)
def test_the_remedy_brings_the_predicted_gain(
    sonde: Sonde, program: str, knob: int, rule: str, title: str
) -> None:
    item = first_item(sonde, program, knob)
    assert item.rule == rule
    gain, remedied = prediction(item, title)
    remedied *= knob if program == "checkpoints" else 1  # advised as a factor
    measured = measured_speedup(program, knob, remedied)
    assert measured > 1
    assert 1 / OFF_BY < gain.speedup / measured < OFF_BY, (gain, measured)


def test_a_program_without_a_fault_gets_no_advice(sonde: Sonde) -> None:
    sonde.run("run", "--name", "job", PYTHON, SCRIPT, "precision", "32", timeout=SECONDS)
    items = open_job(str(sonde.job_folder("job"))).advice().items
    assert [item.rule for item in items if item.rule != "CPUContention"] == []
