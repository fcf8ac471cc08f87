"""Step time and disk use compared with smdebug 1.0.34, on the same CPU models.

Both record losses, statistics of all weights, biases and gradients at every step, or their full
values periodically. The overhead budget of Sonde is disabled, so that it records everything.
"""

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.hook_blocks import Added, added, load_blocks
from benchmarks.hook_overhead import run, sonde_run
from benchmarks.report import Row
from benchmarks.smdebug_environment import VERSION, make_environment

_MODELS = ("perceptron", "convolutions", "transformer")
_TENSORS = '["weights", "biases", "gradients"]'
_NO_BUDGET = "[budget]\noverhead_percent = 100\n"
_VALUES_EVERY = 20
_BLOCK_STEPS = 20


@dataclass(frozen=True)
class Task:
    """What both tools record."""

    title: str
    name: str
    config: str
    every: int = 1


_TASKS = (
    Task("losses", "losses", "[save]\nstatistics = []\n"),
    Task(
        "statistics at every step",
        "statistics",
        f"[save]\nstatistics = {_TENSORS}\nhistogram_every = 0\n",
    ),
    Task(
        f"full values every {_VALUES_EVERY} steps",
        "values",
        "[save]\nstatistics = []\n"
        + "".join(
            f'[[save.collection]]\nname = "{name}"\nevery = {_VALUES_EVERY}\nvalues = true\n'
            for name in ("weights", "biases", "gradients")
        ),
        _VALUES_EVERY,
    ),
)


def main() -> list[Row]:
    """Measure all models and tasks; SONDE_BENCHMARK_QUICK=1 is a quick functional test."""
    pairs = 2 if os.environ.get("SONDE_BENCHMARK_QUICK") else 5
    with tempfile.TemporaryDirectory() as folder:
        bench = _Bench(Path(folder), pairs)
        return [row for model in _MODELS for task in _TASKS for row in bench.compare(model, task)]


class _Bench:
    """Starts training processes with alternating blocks."""

    def __init__(self, folder: Path, pairs: int) -> None:
        self._folder = folder
        self._words = ("--pairs", str(pairs), "--steps", str(_BLOCK_STEPS))
        self._steps = pairs * _BLOCK_STEPS
        self._python = make_environment(folder / "environment")
        self._count = 0

    def compare(self, model: str, task: Task) -> list[Row]:
        """Compare the added step time and the bytes on disk."""
        ours, our_bytes = self._sonde(model, task)
        theirs, their_bytes = self._smdebug(model, task)
        what, name = f"{model}, {task.title}", f"smdebug {VERSION}"
        return [
            Row(
                f"{what}: time added per step",
                1000 * ours.amount,
                "ms",
                alternative=name,
                alternative_measured=1000 * theirs.amount,
                note=f"{ours.percent:.2f} ± {ours.error_percent:.2f}% of {1000 * ours.bare:.3g} ms"
                f"; smdebug {theirs.percent:.1f} ± {theirs.error_percent:.1f}%",
            ),
            Row(f"{what}: on disk", our_bytes, "bytes per step", "", None, name, their_bytes),
        ]

    def _sonde(self, model: str, task: Task) -> tuple[Added, float]:
        self._count += 1
        file, job = self._folder / f"{self._count}.json", f"job{self._count}"
        training = [sys.executable, "-m", "benchmarks.hook_training", model, str(file)]
        before = sonde_run(self._folder, job, task.config + _NO_BUDGET)
        run([*before, *training, *self._words, "--switch"])
        workers = self._folder / "jobs" / job / "workers"
        heartbeat = next(workers.rglob("beat.json")).read_text(encoding="utf-8")
        recorded = json.loads(heartbeat)["steps"]["train"]  # includes steps before the first block
        return added(load_blocks(file)), size(workers) / recorded

    def _smdebug(self, model: str, task: Task) -> tuple[Added, float]:
        self._count += 1
        file, folder = self._folder / f"{self._count}.json", self._folder / f"out{self._count}"
        training = [str(self._python), "-m", "benchmarks.smdebug_training", model, str(file)]
        run([*training, str(folder), task.name, *self._words, "--every", str(task.every)])
        return added(load_blocks(file)), size(folder) / self._steps


def size(folder: Path) -> int:
    """Return the size of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
