"""What the hook adds to real training on a CPU: to the step, and to the CPU time of the process."""

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
    """How long everything is measured."""

    pairs: int = 150  # of blocks, inside one process
    steps: int = 18  # in a block: as long as one step is watched closely and the others are quiet
    tiny_pairs: int = 60
    tiny_steps: int = 120


_THOROUGH = Effort()
_QUICK = Effort(pairs=10, tiny_pairs=10, tiny_steps=60)


def main() -> list[Row]:
    """Every model; SONDE_BENCHMARK_QUICK=1 only shows that everything works."""
    effort = _QUICK if os.environ.get("SONDE_BENCHMARK_QUICK") else _THOROUGH
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        bench = _Bench(Path(folder), effort)
        for model in _MODELS:
            rows += bench.defaults(model)
        rows += [bench.noise(_MODELS[0]), *bench.nothing_due()]
    return rows


class _Bench:
    """Starts trainings and reads what they measured."""

    def __init__(self, folder: Path, effort: Effort) -> None:
        self._folder = folder
        self._effort = effort
        self._count = 0

    def defaults(self, model: str) -> list[Row]:
        """The hook as it comes, switched off and on inside one process."""
        blocks = self._blocks(model, self._effort.steps, "", "--switch")
        step, cpu = added_by_kind(blocks), added_cpu(blocks)
        name = f"{model}, {1000 * step.bare:.3g} ms a step: defaults"
        longest = max(max(block.step_seconds) for block in blocks if block.is_hooked)
        return [
            _percent(f"{name}, step time", step, _STEP_BAR_PERCENT, _inside(self._effort, step)),
            _percent(
                f"{name}, CPU time",
                cpu,
                _CPU_BAR_PERCENT,
                f"± {cpu.error_percent:.2f} %, with the hook's own threads; "
                f"longest hooked step {1000 * longest:.3g} ms",
            ),
        ]

    def noise(self, model: str) -> Row:
        """The same with nothing to switch."""
        found = added_by_kind(self._blocks(model, self._effort.steps, None))
        note = f"± {found.error_percent:.2f} %: bare against bare, blocks as above"
        return Row(f"{model}: noise", found.percent, "%", note=note)

    def nothing_due(self) -> list[Row]:
        """Microseconds per step where no statistics are asked for."""
        rows = []
        for what, config in (("nothing due", _NOTHING_DUE), ("defaults", "")):
            words = ("--switch", "--pairs", str(self._effort.tiny_pairs))
            found = added_by_kind(self._blocks("tiny", self._effort.tiny_steps, config, *words))
            microseconds = 1e6 * found.amount
            error = found.bare * found.error_percent * 1e4
            bar = _NOTHING_DUE_BAR_MICROSECONDS if config else None
            rows.append(
                Row(
                    f"a step of {1000 * found.bare:.2g} ms: {what}",
                    microseconds,
                    "µs",
                    bar=f"≤ {bar:g} µs" if bar else "",
                    is_met=microseconds + error <= bar if bar else None,
                    note=f"± {error:.1f} µs; steps, phases and losses are recorded",
                )
            )
        return rows

    def _blocks(self, model: str, steps: int, config: str | None, *words: str) -> list[Block]:
        """Trains in a process of its own; without a configuration: without Sonde."""
        self._count += 1
        file = self._folder / f"{self._count}.json"
        command = [sys.executable, "-m", "benchmarks.hook_training", model, str(file)]
        command += ["--pairs", str(self._effort.pairs), "--steps", str(steps), *words]
        if config is not None:
            command = [*sonde_run(self._folder, str(self._count), config), *command]
        run(command)
        return load_blocks(file)


def sonde_run(folder: Path, name: str, config: str) -> list[str]:
    """The words before a command."""
    path = folder / f"{name}.toml"
    path.write_text(config, encoding="utf-8")
    words = ["--store", str(folder / "jobs"), "--name", name, "--config", str(path)]
    return [sys.executable, "-m", "sonde", "run", *words, "--no-rules", "--no-report", "--"]


def run(command: Sequence[str]) -> str:
    """To its good end; what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def _percent(what: str, found: Added, bar: float, note: str) -> Row:
    return Row(what, found.percent, "%", f"≤ {bar:g} %", found.is_at_most(bar), note=note)


def _inside(effort: Effort, found: Added) -> str:
    return (
        f"± {found.error_percent:.2f} %; {effort.pairs} pairs of blocks of {effort.steps} steps "
        "in one process, the hook on and off in turns"
    )
