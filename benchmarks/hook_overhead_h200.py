"""Overhead of the hook on a GPU for a model of 163 M parameters, as a ratio of step times.

`PYTHONPATH=src python3 -m benchmarks.hook_overhead_h200 FOLDER [COMMIT]` writes
hook_overhead_h200.json to the folder. Requires only the standard library and torch. Without a GPU,
a toy model is a functional test.
"""

import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpt2 import Gpt2, Shape
from benchmarks.gpt2_references import REFERENCES
from benchmarks.hook_blocks import Added, Block, added, added_wall, load_blocks
from benchmarks.hook_overhead import run, sonde_run
from benchmarks.report import Row, describe_environment, table

_BARE_SECONDS = 0.051  # target duration of a step without Sonde
_IDLE_STEPS = 2  # at the start of a block, the GPU is idle
_NO_BUDGET = "[budget]\noverhead_percent = 100\n"
_TENSORS = ("weights", "biases", "gradients")
_VALUES_EVERY = 100
_IS_GPU = torch.cuda.is_available()
_TOY = ("--pairs", "2", "--steps", "6")


@dataclass(frozen=True)
class Case:
    """One configuration and its target ratio."""

    title: str
    config: str
    bar: float | None = None


def _statistics(histogram_every: int) -> str:
    listed = json.dumps(_TENSORS)
    return f"[save]\nstatistics = {listed}\nhistogram_every = {histogram_every}\n{_NO_BUDGET}"


_NOTHING = "[save]\nstatistics = []\n"
_EVERY_STEP = _statistics(0)
_CASES = (
    Case("losses and phases", _NOTHING, 1.005),
    Case("statistics at every step", _EVERY_STEP, 1.01),
    Case("statistics, histograms every 10 steps", _statistics(10), 1.015),
    Case("defaults", ""),
)
_COMPILED = Case("torch.compile, statistics at every step", _EVERY_STEP, 1.02)
_GRAPHS = Case("torch.compile with CUDA graphs: defaults", "", 1.02)
_VALUES = Case(
    f"full tensors every {_VALUES_EVERY} steps: longest step",
    _NOTHING
    + _NO_BUDGET
    + "".join(
        f'[[save.collection]]\nname = "{name}"\nevery = {_VALUES_EVERY}\nvalues = true\n'
        for name in _TENSORS
    ),
    1.3,
)
_WINDOW_STEPS = range(60, 64)
_WINDOW_CONFIG = (
    f"{_NOTHING}[profile]\ndataloader = false\npython = false\n"
    f"operators = {{start_step = {_WINDOW_STEPS[0]}, num_steps = {len(_WINDOW_STEPS)}}}\n"
)
_AFTER_WINDOW = Case("steps after an operator window", "", 1.005)


def main(folder: Path, commit: str | None) -> int:
    """Run all measurements; takes less than nine minutes."""
    facts = describe_environment()
    facts["commit"] = commit or facts["commit"]
    facts["machine"] |= {"gpu": _gpu(), "torch": torch.__version__}
    rows: list[Row] = []
    failures = 0
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for measure in _measurements(_Bench(Path(scratch))):
            try:
                rows.append(measure())
            except SystemExit as error:  # one training process failed: continue with the others
                failures += 1
                print(error, file=sys.stderr, flush=True)
            _save(folder, facts, rows)
    print(table(rows))
    return int(failures > 0 or any(row.is_met is False for row in rows))


def _measurements(bench: "_Bench") -> list[Callable[[], Row]]:
    return [
        bench.bare,
        bench.first,
        *(partial(bench.hooked, case) for case in _CASES),
        bench.values,
        partial(bench.compiled, _COMPILED, "default"),
        partial(bench.compiled, _GRAPHS, "reduce-overhead"),
        bench.window,
        bench.after_window,
        *(partial(bench.reference, name) for name in REFERENCES),
    ]


def _save(folder: Path, facts: dict[str, Any], rows: Sequence[Row]) -> None:
    document = {"benchmark": "hook_overhead_h200", **facts, "rows": [asdict(row) for row in rows]}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (folder / "hook_overhead_h200.json").write_text(text + "\n", encoding="utf-8")


class _Bench:
    """Starts training processes and reads their measurements."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._batch = Shape.batch
        self._before_window = self._after_window = 0.0  # seconds per step
        self._drift = 1.0  # of a GPU that warms up over the same number of steps

    def bare(self) -> Row:
        """Choose the batch size for the target duration, and measure the noise."""
        blocks = self._train(None, "--pairs", "1", "--steps", "8")
        seconds = statistics.median(_steps(blocks, False))
        if _IS_GPU:
            self._batch = max(1, round(Shape.batch * _BARE_SECONDS / seconds))
        blocks = self._train(None)
        noise = added(blocks)
        with torch.device("meta"):
            parameters = list(Gpt2(Shape()).parameters())
        size = sum(parameter.numel() for parameter in parameters)
        return Row(
            "step without Sonde",
            1000 * noise.bare,
            "ms",
            note=f"{size:,} parameters in {len(parameters)} tensors, batch {self._batch} × "
            f"{Shape.length}, bfloat16 autocast; without Sonde in all blocks {_error(noise)}",
        )

    def first(self) -> Row:
        """Measure the first job on a machine, which compiles the kernels; later jobs cache them."""
        blocks = self._train(_EVERY_STEP, "--switch", "--pairs", "1")
        longest = max(_steps(blocks, True)) / statistics.median(_steps(blocks, False))
        note = "includes compiling the statistics kernels, once per machine"
        return Row("longest step of the first job on a machine", longest, "×", note=note)

    def hooked(self, case: Case) -> Row:
        """Measure with the hook switched on and off in one process."""
        blocks = self._train(case.config, "--switch")
        step, wall = added(blocks), added_wall(blocks)
        longest = max(_steps(blocks, True)) / step.bare
        note = (
            f"by GPU events {_error(step)}, without Sonde {1000 * step.bare:.3g} ms; "
            f"by wall clock {_error(wall)}; "
            f"longest step {longest:.3g}×; {self._account()}"
        )
        return _ratio(case, 1 + step.percent / 100, step.error_percent, note)

    def values(self) -> Row:
        """Measure the longest step while full tensors are saved."""
        steps = 2 * _VALUES_EVERY + 10
        blocks = self._train(_VALUES.config, "--switch", "--pairs", "1", "--steps", str(steps))
        bare = statistics.median(_steps(blocks, False))
        longest = max(_steps(blocks, True)) / bare
        note = (
            f"longest step without Sonde {max(_steps(blocks, False)) / bare:.3g}×; "
            f"all steps {_error(added(blocks))}; {self._account()}"
        )
        return _ratio(_VALUES, longest, 0.0, note)

    def compiled(self, case: Case, mode: str) -> Row:
        """Compare with a process without Sonde, and within one process."""
        plain = self._train(None, "--compile", mode)
        blocks = self._train(case.config, "--compile", mode, "--switch")
        bare = statistics.median(_steps(plain, False) + _steps(plain, True))
        hooked = statistics.median(_steps(blocks, True))
        inside = added(blocks)
        ratio = max(hooked / bare, 1 + inside.percent / 100)
        note = (
            f"the larger of: median step compared with a process without Sonde "
            f"({1000 * bare:.4g} ms) {hooked / bare:.4g}×, alternating with and without the hook "
            f"{_error(inside)}"
        )
        return _ratio(case, ratio, inside.error_percent, note)

    def window(self) -> Row:
        """Compare profiled steps with the steps before the window."""
        warm_up = 20
        words = ("--pairs", "1", "--steps", "100", "--warm-up", str(warm_up))
        first, last = (at - warm_up - _IDLE_STEPS for at in (_WINDOW_STEPS[0], _WINDOW_STEPS[-1]))
        first_block, second_block = (block.step_seconds for block in self._train(None, *words))
        self._drift = statistics.median(second_block) / statistics.median(first_block[: first - 2])
        first_block, second_block = (
            block.step_seconds for block in self._train(_WINDOW_CONFIG, *words)
        )
        self._before_window = statistics.median(first_block[: first - 2])
        # the trace decoder is finished by then
        self._after_window = statistics.median(second_block)
        profiled = first_block[first : last + 1]
        note = (
            f"mean of {len(profiled)} steps, longest {max(profiled) / self._before_window:.3g}×; "
            f"next step {first_block[last + 1] / self._before_window:.3g}×; {self._account()}"
        )
        ratio = statistics.fmean(profiled) / self._before_window
        return Row("step in an operator window", ratio, "×", note=note)

    def after_window(self) -> Row:
        """Compare steps after and before the window."""
        ratio = self._after_window / self._before_window
        note = (
            f"medians, before {1000 * self._before_window:.4g} ms, after {ratio:.4f}×; "
            f"the same steps in a process without Sonde {self._drift:.4f}×"
        )
        return _ratio(_AFTER_WINDOW, ratio / self._drift, 0.0, note)

    def reference(self, name: str) -> Row:
        """Measure another way to get statistics."""
        words = ("--reference", name, "--pairs", "3", "--steps", "12")
        cost = added(self._train(None, *words))
        note = f"at every step, without Sonde, {_error(cost)}"
        return Row(f"reference: {name}", 1 + cost.percent / 100, "×", note=note)

    def _train(self, config: str | None, *words: str) -> list[Block]:
        self._count += 1
        file = self._folder / f"{self._count}.json"
        command = [sys.executable, "-m", "benchmarks.gpt2_training", str(file)]
        command += ["--batch", str(self._batch), *(() if _IS_GPU else _TOY), *words]
        if config is not None:
            command = [*sonde_run(self._folder, self._job, config), *command]
        print(" ".join(command), file=sys.stderr, flush=True)
        run(command)
        return [_without_first(block) for block in load_blocks(file)]

    @property
    def _job(self) -> str:
        return f"job{self._count}"

    def _account(self) -> str:
        """Describe the overhead that the hook itself reports."""
        workers = self._folder / "jobs" / self._job / "workers"
        heartbeats = [
            json.loads(path.read_text(encoding="utf-8")) for path in workers.rglob("beat.json")
        ]
        if len(heartbeats) != 1:
            return f"{len(heartbeats)} workers recorded"
        (heartbeat,) = heartbeats
        steps = heartbeat["steps"]["train"]
        return (
            f"{steps} steps recorded, each {1e6 * heartbeat['hook_seconds'] / steps:.0f} µs in the "
            f"training thread, {1e6 * heartbeat['thread_seconds'] / steps:.0f} µs CPU in the "
            f"worker thread and {heartbeat['bytes_written'] / steps:,.0f} bytes"
        )


def _without_first(block: Block) -> Block:
    return replace(block, step_seconds=block.step_seconds[_IDLE_STEPS:])


def _steps(blocks: Sequence[Block], is_hooked: bool) -> list[float]:
    return [
        seconds
        for block in blocks
        if block.is_hooked == is_hooked
        for seconds in block.step_seconds
    ]


def _ratio(case: Case, ratio: float, error_percent: float, note: str) -> Row:
    bar = "" if case.bar is None else f"≤ {case.bar:g}×"
    is_met = None if case.bar is None else ratio + error_percent / 100 <= case.bar
    return Row(case.title, ratio, "×", bar, is_met, note=note)


def _error(cost: Added) -> str:
    return f"{1 + cost.percent / 100:.4f} ± {cost.error_percent / 100:.4f}"


def _gpu() -> str:
    return torch.cuda.get_device_name() if _IS_GPU else "none"


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python3 -m benchmarks.hook_overhead_h200 FOLDER [COMMIT]")
    sys.exit(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else None))
