"""Overhead of the hook in real training on a CPU: step time and CPU time of the process."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.hook_blocks import (
    Added,
    Block,
    added_by_kind,
    added_cpu,
    load_blocks,
)
from benchmarks.report import Row

_MODELS = ("perceptron", "convolutions", "transformer")
_STEP_BAR_PERCENT = 1.0
_CPU_BAR_PERCENT = 2.0
_NOTHING_DUE_BAR_MICROSECONDS = 30.0
_NOTHING_DUE = "[save]\nstatistics = []\nlooks = false\n"


@dataclass(frozen=True)
class Effort:
    """Number and length of the measurements."""

    pairs: int = 150  # of blocks, in one process
    steps: int = 18  # per block: one inspected step, deferred hooks in the others
    tiny_pairs: int = 60
    tiny_steps: int = 120


_THOROUGH = Effort()
_QUICK = Effort(pairs=10, tiny_pairs=10, tiny_steps=60)


def main() -> list[Row]:
    """Measure all models; SONDE_BENCHMARK_QUICK=1 is a quick functional test."""
    effort = _QUICK if os.environ.get("SONDE_BENCHMARK_QUICK") else _THOROUGH
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        bench = _Bench(Path(folder), effort)
        for model in _MODELS:
            rows += bench.defaults(model)
        rows += [bench.noise(_MODELS[0]), *bench.nothing_due()]
    return rows


class _Bench:
    """Starts training processes and reads their measurements."""

    def __init__(self, folder: Path, effort: Effort) -> None:
        self._folder = folder
        self._effort = effort
        self._count = 0

    def defaults(self, model: str) -> list[Row]:
        """Measure the hook with default settings, switched on and off in one process."""
        blocks = self._blocks(model, self._effort.steps, "", "--switch")
        step, cpu = added_by_kind(blocks), added_cpu(blocks)
        name = f"{model}, {1000 * step.bare:.3g} ms per step: defaults"
        longest = max(max(block.step_seconds) for block in blocks if block.is_hooked)
        return [
            _percent(f"{name}, step time", step, _STEP_BAR_PERCENT, _inside(self._effort, step)),
            _percent(
                f"{name}, CPU time",
                cpu,
                _CPU_BAR_PERCENT,
                f"± {cpu.error_percent:.2f}%, including the hook's threads; "
                f"longest step with the hook {1000 * longest:.3g} ms",
            ),
        ]

    def noise(self, model: str) -> Row:
        """Measure the noise: the same comparison without Sonde in all blocks."""
        noise = added_by_kind(self._blocks(model, self._effort.steps, None))
        note = f"± {noise.error_percent:.2f}%: without Sonde in all blocks"
        return Row(f"{model}: noise", noise.percent, "%", note=note)

    def nothing_due(self) -> list[Row]:
        """Measure microseconds per step without statistics."""
        rows = []
        for what, config in (("no statistics", _NOTHING_DUE), ("defaults", "")):
            words = ("--switch", "--pairs", str(self._effort.tiny_pairs))
            added = added_by_kind(self._blocks("tiny", self._effort.tiny_steps, config, *words))
            microseconds = 1e6 * added.amount
            error = added.bare * added.error_percent * 1e4
            bar = _NOTHING_DUE_BAR_MICROSECONDS if config else None
            rows.append(
                Row(
                    f"{1000 * added.bare:.2g} ms per step: {what}",
                    microseconds,
                    "µs",
                    bar=f"≤ {bar:g} µs" if bar else "",
                    is_met=microseconds + error <= bar if bar else None,
                    note=f"± {error:.1f} µs; steps, phases and losses are recorded",
                )
            )
        return rows

    def _blocks(self, model: str, steps: int, config: str | None, *words: str) -> list[Block]:
        """Train in a new process; without Sonde if there is no configuration."""
        self._count += 1
        file = self._folder / f"{self._count}.json"
        command = [sys.executable, "-m", "benchmarks.hook_training", model, str(file)]
        command += ["--pairs", str(self._effort.pairs), "--steps", str(steps), *words]
        if config is not None:
            command = [*sonde_run(self._folder, str(self._count), config), *command]
        run(command)
        return load_blocks(file)


def sonde_run(folder: Path, name: str, config: str) -> list[str]:
    """Return the arguments to put before a command."""
    path = folder / f"{name}.toml"
    path.write_text(config, encoding="utf-8")
    words = ["--store", str(folder / "jobs"), "--name", name, "--config", str(path)]
    return [sys.executable, "-m", "sonde", "run", *words, "--no-rules", "--no-report", "--"]


def run(command: Sequence[str]) -> str:
    """Run a command and return its output; exit if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed with exit code {done.returncode}:\n{done.stderr}")
    return done.stdout


def _percent(what: str, added: Added, bar: float, note: str) -> Row:
    return Row(what, added.percent, "%", f"≤ {bar:g}%", added.is_at_most(bar), note=note)


def _inside(effort: Effort, added: Added) -> str:
    return (
        f"± {added.error_percent:.2f}%; {effort.pairs} pairs of blocks of {effort.steps} steps "
        "in one process, alternating with and without the hook"
    )
