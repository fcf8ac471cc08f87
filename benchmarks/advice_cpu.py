"""Predicted speed-ups on a CPU, compared with what the remedies bring.

Each program alternates between its slow and its remedied setting in one process, so that other work
on the machine slows both.
"""

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Row
from sonde.client.job import open_job
from sonde.records.advice import AdviceItem, Gain

OFF_BY = 2.0
SECONDS = 300  # a busy machine may take this long
SCRIPT = str(Path(__file__).parent / "advised_training.py")


@dataclass(frozen=True)
class Planted:
    """A program with a slow setting, and the advice that it should get."""

    program: str
    knob: int
    rule: str
    title: str  # of the remedy: a regular expression
    is_factor: bool = False  # whether the number in the title multiplies the setting

    def remedied(self, title: str) -> int:
        """The setting that the title of a remedy advises."""
        number = re.search(r"[0-9][0-9,]*", title)
        setting = int(number[0].replace(",", "")) if number else 1
        return setting * self.knob if self.is_factor else setting


PLANTED = (
    Planted("printing", 1, "SlowLogging", "output at every"),
    Planted("checkpoints", 5, "SlowCheckpoints", "as often", is_factor=True),
    Planted("evaluation", 5, "FrequentEvaluation", "evaluating every"),
    Planted("loading", 0, "DataLoaderStarvation", "num_workers"),
    Planted("precision", 64, "DoublePrecision", "float32"),
    Planted("optimizer", 0, "UnfusedOptimizer", "fused AdamW"),
)


def main() -> list[Row]:
    """Compare prediction and measurement of every program."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for planted in PLANTED:
            job = Path(folder) / planted.program
            _record(planted, job)
            rows.append(_row(planted, first_item(str(job))))
    return rows


def first_item(job: str) -> AdviceItem | None:
    """The first advice; other work on this machine is no fault of the program, so it is ignored."""
    items = open_job(job).advice().items
    return next((item for item in items if item.rule != "CPUContention"), None)


def compare(planted: Planted, item: AdviceItem) -> tuple[Gain, float]:
    """The predicted gain of the expected remedy, and the measured speed-up."""
    remedy = next(each for each in item.remedies if re.search(planted.title, each.title))
    if remedy.gain is None:
        raise ValueError(f"{remedy.title} has no predicted gain")
    knobs = (planted.knob, planted.remedied(remedy.title))
    words = (sys.executable, SCRIPT, planted.program, *map(str, knobs))
    done = subprocess.run(words, check=True, capture_output=True, timeout=SECONDS)
    slow, remedied = map(float, done.stdout.split())
    return remedy.gain, slow / remedied


def _record(planted: Planted, job: Path) -> None:
    """Train with the slow setting."""
    recorder = (sys.executable, "-m", "sonde", "run", "--quiet", "--no-report", "--name", job.name)
    training = (sys.executable, SCRIPT, planted.program, str(planted.knob))
    command = (*recorder, "--store", str(job.parent), *training)
    subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)


def _row(planted: Planted, item: AdviceItem | None) -> Row:
    what, bar = f"{planted.program}: predicted speed-up", f"within {OFF_BY:g}×"
    if item is None or item.rule != planted.rule:
        note = f"first advice: {item.rule if item else 'none'}, expected {planted.rule}"
        return Row(what, 1.0, "×", bar, False, note=note)
    gain, measured = compare(planted, item)
    is_met = 1 / OFF_BY < gain.speedup / measured < OFF_BY and measured > 1
    return Row(what, gain.speedup, "×", bar, is_met, "measured", measured, note=planted.rule)
