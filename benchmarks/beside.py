"""CPU time of the processes beside a job, and how soon the terminal is back after its end.

Trains for 2, 7, 25 and 60 seconds under `sonde run`, with the defaults and with sampling only, and
runs `true`. The training process does not count: `small_steps` and `hook_overhead` measure it.
"""

import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.processes import Measured, measure
from benchmarks.report import Row

_BAR_CPU_SECONDS = 2.0  # of a job of a minute, beyond sampling
_BAR_WAIT_SECONDS = 1.0
_SAMPLING = ("--no-rules", "--no-report", "--profile", "none")
_TRAINING = "benchmarks.beside_training"
_ROLES = {  # a word of the command line: what the process does
    _TRAINING: "training",
    "follow": "rules",
    "--refresh": "live report",
    "--at-end": "report",
    "report": "report",
    "compact": "decoder",
    "signal-probe": "signal probe",
    "git": "git",
}


@dataclass(frozen=True)
class Effort:
    """Lengths of the jobs and number of runs of each."""

    seconds: Sequence[float] = (2, 7, 25, 60)
    runs: int = 3


@dataclass(frozen=True)
class _Cost:
    """One run."""

    cpu_seconds: dict[str, float]  # by role, without the training
    wait_seconds: float  # from the end of the training process to the end of `sonde run`

    @property
    def total(self) -> float:
        return sum(self.cpu_seconds.values())


def main() -> list[Row]:
    """Measure all lengths, or BESIDE_SECONDS; SONDE_BENCHMARK_QUICK=1 is a quick test."""
    effort = Effort((2,), 1) if os.environ.get("SONDE_BENCHMARK_QUICK") else Effort()
    lengths = [float(text) for text in os.environ.get("BESIDE_SECONDS", "").split()]
    effort = Effort(lengths, effort.runs) if lengths else effort
    rows = _rows("true", ("true",), effort.runs)
    for seconds in effort.seconds:
        words = (sys.executable, "-m", _TRAINING, "transformer", str(seconds))
        rows += _rows(f"training of {seconds:g} s", words, effort.runs)
    return rows


def _rows(what: str, command: Sequence[str], runs: int) -> list[Row]:
    """Run the command alternately with the defaults and with sampling only."""
    defaults, sampling = [], []
    for _ in range(runs):
        defaults.append(_cost(command))
        sampling.append(_cost(command, _SAMPLING))
    added = statistics.median(cost.total for cost in defaults) - statistics.median(
        cost.total for cost in sampling
    )
    wait = statistics.median(cost.wait_seconds for cost in defaults)
    roles = sorted({role for cost in defaults for role in cost.cpu_seconds})
    parts = {
        role: statistics.median(cost.cpu_seconds.get(role, 0.0) for cost in defaults)
        for role in roles
    }
    text = ", ".join(f"{role} {seconds:.2f}" for role, seconds in parts.items() if seconds)
    sampler = statistics.median(cost.total for cost in sampling)
    note = f"{text}; sampling only {sampler:.2f}; medians of {runs}"
    print(f"  {what}: {added:.2f} CPU-seconds, back after {wait:.2f} s ({note})", file=sys.stderr)
    return [
        Row(
            f"{what}: CPU time beyond sampling",
            added,
            "s",
            f"≤ {_BAR_CPU_SECONDS:g} s",
            added <= _BAR_CPU_SECONDS,
            note=note,
        ),
        Row(
            f"{what}: terminal back after",
            wait,
            "s",
            f"≤ {_BAR_WAIT_SECONDS:g} s",
            wait <= _BAR_WAIT_SECONDS,
        ),
    ]


def _cost(command: Sequence[str], options: Sequence[str] = ()) -> _Cost:
    with tempfile.TemporaryDirectory() as folder:
        sonde = (sys.executable, "-m", "sonde", "run", "--store", folder, *options)
        measured = measure((*sonde, "--", *command))
    if measured.code:
        raise SystemExit(f"{command[0]} failed with exit code {measured.code}")
    cpu_seconds: dict[str, float] = {}
    for usage in measured.processes.values():
        role = _role(usage.words)
        cpu_seconds[role] = cpu_seconds.get(role, 0.0) + usage.cpu_seconds
    cpu_seconds.pop("training", None)
    return _Cost(cpu_seconds, measured.ended_seconds - _end_of_command(measured))


def _end_of_command(measured: Measured) -> float:
    """When the command was last running."""
    ends = [
        usage.seen_seconds
        for usage in measured.processes.values()
        if _role(usage.words) == "training"
    ]
    return max(ends, default=measured.ended_seconds - measured.wall_seconds)


def _role(words: Sequence[str]) -> str:
    if (
        "sonde" in words[:4] and "run" in words[:5]
    ):  # its command line contains that of the training
        return "launcher"
    return next((role for word, role in _ROLES.items() if word in words), "?")
