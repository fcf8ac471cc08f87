"""Overhead of the hook in programs with short steps, compared with its self-reported overhead.

Each program runs in one process, alternating between blocks with the hook and blocks in which all
hooks and replaced functions are removed. CPU time of the training thread is compared, because wall
time is unreliable on a busy machine. Then complete jobs of a few seconds run with and without
`sonde run`.

SMALL_STEPS selects programs. SMALL_STEPS_BEFORE is the root of another checkout with an environment
in `.venv` and a copy of this folder: each program also runs there.
"""

import json
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.hook_overhead import run, sonde_run
from benchmarks.report import Row
from benchmarks.small_programs import NEEDS, PROGRAMS
from benchmarks.small_training import SmallBlock

_BAR_PERCENT = 1.0
_SHORT_BAR_PERCENT = 3.0
_SHORT = {"perceptron": 6000, "digits": 2000, "ppo_whole": 80}  # units: a few seconds
_RESAMPLED = 400
_TRIMMED = 0.03  # share of pairs to drop at each end: disturbed by other processes


@dataclass(frozen=True)
class Effort:
    """Length of the measurements."""

    seconds: float = 8.0
    short_pairs: int = 5


_THOROUGH = Effort()
_QUICK = Effort(seconds=2.0, short_pairs=1)


def main() -> list[Row]:
    """Measure all programs, or SMALL_STEPS; SONDE_BENCHMARK_QUICK=1 is a quick functional test."""
    effort = _QUICK if os.environ.get("SONDE_BENCHMARK_QUICK") else _THOROUGH
    names = os.environ.get("SMALL_STEPS", "").split() or list(PROGRAMS)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        bench = _Bench(Path(folder), effort)
        for name in names:
            if name in NEEDS and find_spec(NEEDS[name]) is None:
                rows.append(Row(name, 0, "", note=f"not run: {NEEDS[name]} is not installed"))
                continue
            row = bench.blocks(name)
            message = f"self-reported {row.alternative_measured:.2f}%, {row.note}"
            print(f"  {row.what}: {row.measured:.2f}%, {message}", file=sys.stderr, flush=True)
            rows.append(row)
        rows += [bench.complete_job(name) for name in names if name in _SHORT]
    return rows


class _Bench:
    """Starts programs and compares their measurements."""

    def __init__(self, folder: Path, effort: Effort) -> None:
        self._folder = folder
        self._effort = effort
        self._count = 0

    def blocks(self, name: str) -> Row:
        """Measure with the hook installed and removed in one process."""
        seconds = str(self._effort.seconds)
        document = self._run(name, "--switch", "remove", "--seconds", seconds, hooked=True)
        blocks = [SmallBlock(**block) for block in document["blocks"]]
        percent, error = added(blocks, "cpu_seconds")
        wall, wall_error = added(blocks, "wall_seconds")
        hooked = [block for block in blocks if block.is_hooked]
        thread_seconds = sum(block.thread_seconds for block in blocks)
        threads = 100 * thread_seconds / sum(block.cpu_seconds for block in hooked)
        unit = statistics.median(
            block.cpu_seconds / block.units for block in blocks if not block.is_hooked
        )
        reported = account(document["accounts"])
        before = self._before(name)
        return Row(
            f"{name}, {1000 * unit:.2g} ms per unit",
            percent,
            "%",
            f"≤ {_BAR_PERCENT:g}%",
            percent - error <= _BAR_PERCENT,
            "self-reported",
            reported[0],
            f"± {error:.2f}%; wall time {wall:.2f} ± {wall_error:.2f}%; CPU time of its threads "
            f"{threads:.2f}% (self-reported {reported[1]:.2f}%); {len(blocks) // 2} pairs{before}",
        )

    def _before(self, name: str) -> str:
        """Describe the overhead of SMALL_STEPS_BEFORE, if set."""
        root = os.environ.get("SMALL_STEPS_BEFORE")
        if not root:
            return ""
        seconds = str(self._effort.seconds)
        words = ("--switch", "remove", "--seconds", seconds)
        document = self._run(name, *words, hooked=True, root=Path(root))
        blocks = [SmallBlock(**block) for block in document["blocks"]]
        percent, error = added(blocks, "cpu_seconds")
        reported = account(document["accounts"])[0]
        return f"; before: {percent:.2f} ± {error:.2f}%, self-reported {reported:.2f}%"

    def complete_job(self, name: str) -> Row:
        """Measure a complete job of a few seconds."""
        words = ("--units", str(_SHORT[name]))
        plain: list[dict[str, Any]] = []
        hooked: list[dict[str, Any]] = []
        for pair in range(self._effort.short_pairs):
            for is_hooked in (True, False) if pair % 2 else (False, True):
                document = self._run(name, *words, hooked=is_hooked)
                (hooked if is_hooked else plain).append(document)
        cpu = _ratio(plain, hooked, "process_seconds")
        wall = _ratio(plain, hooked, "wall_seconds")
        seconds = statistics.median(run_document["process_seconds"] for run_document in plain)
        return Row(
            f"{name}, complete job of {seconds:.1f} s",
            cpu,
            "%",
            f"≤ {_SHORT_BAR_PERCENT:g}%",
            cpu <= _SHORT_BAR_PERCENT,
            note=f"CPU time of the process after its imports, all threads; wall time {wall:.1f}%; "
            f"medians of {len(plain)} pairs of processes",
        )

    def _run(
        self, name: str, *words: str, hooked: bool, root: Path | None = None
    ) -> dict[str, Any]:
        self._count += 1
        file = self._folder / f"{self._count}.json"
        python = str(root / ".venv/bin/python") if root else sys.executable
        command = [python, "-m", "benchmarks.small_training", name, str(file), *words]
        if hooked:
            options = sonde_run(self._folder, str(self._count), "")[1:]
            command = [python, *options, *command]
        if root:
            command = ["env", "-C", str(root), *command]
        run(command)
        document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return document


def added(blocks: Sequence[SmallBlock], what: str) -> tuple[float, float]:
    """Return the added percentage compared with neighboring blocks, and its standard error."""
    ratios = []
    for pair in zip(blocks[::2], blocks[1::2], strict=True):
        bare, hooked = sorted(pair, key=lambda block: block.is_hooked)
        ratios.append(getattr(hooked, what) * bare.units / (getattr(bare, what) * hooked.units))
    generator = random.Random(0)
    resampled = [_trimmed(generator.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLED)]
    return 100 * (_trimmed(ratios) - 1), 100 * statistics.stdev(resampled)


def _trimmed(ratios: Sequence[float]) -> float:
    cut = int(len(ratios) * _TRIMMED)
    return statistics.fmean(sorted(ratios)[cut : len(ratios) - cut])


def account(accounts: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the self-reported percentages of the hook and of its threads."""
    hook, threads, training = (
        end - start for end, start in zip(accounts[1], accounts[0], strict=True)
    )
    return (100 * hook / training, 100 * threads / training) if training else (0.0, 0.0)


def _ratio(plain: Sequence[dict[str, Any]], hooked: Sequence[dict[str, Any]], what: str) -> float:
    bare = statistics.median(float(document[what]) for document in plain)
    return 100 * (statistics.median(float(document[what]) for document in hooked) / bare - 1)
