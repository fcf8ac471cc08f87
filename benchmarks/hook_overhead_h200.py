"""What the hook adds on a GPU, to a model of 163 M parameters: each as a ratio to the bare step.

`PYTHONPATH=src python3 -m benchmarks.hook_overhead_h200 FOLDER [COMMIT]` leaves
hook_overhead_h200.json in the folder. Needs the standard library and torch alone; without a GPU a
model of toy size shows that everything works.
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
from benchmarks.report import Row, circumstances, table

_BARE_SECONDS = 0.051  # the step that the promises were made for
_IDLE_STEPS = 2  # the first of a block find an idle GPU
_NO_BUDGET = "[budget]\noverhead_percent = 100\n"
_TENSORS = ("weights", "biases", "gradients")
_VALUES_EVERY = 100
_IS_GPU = torch.cuda.is_available()
_TOY = ("--pairs", "2", "--steps", "6")


@dataclass(frozen=True)
class Case:
    """One configuration and the ratio that it may reach."""

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
    f"full tensors every {_VALUES_EVERY} steps: the longest step",
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
_AFTER_WINDOW = Case("steps after a window of operators", "", 1.005)


def main(folder: Path, commit: str | None) -> int:
    """Measures everything, in less than nine minutes."""
    facts = circumstances()
    facts["commit"] = commit or facts["commit"]
    facts["machine"] |= {"gpu": _gpu(), "torch": torch.__version__}
    rows: list[Row] = []
    failures = 0
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for measure in _measurements(_Bench(Path(scratch))):
            try:
                rows.append(measure())
            except SystemExit as error:  # a training that failed: the others still tell something
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
    """Starts trainings of the model and reads what they measured."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._batch = Shape.batch
        self._before_window = self._after_window = 0.0  # seconds of a step
        self._drift = 1.0  # of a GPU that grows warm over as many steps

    def bare(self) -> Row:
        """Finds the batch with which a bare step is about as long as meant, and its noise."""
        blocks = self._train(None, "--pairs", "1", "--steps", "8")
        found = statistics.median(_steps(blocks, False))
        if _IS_GPU:
            self._batch = max(1, round(Shape.batch * _BARE_SECONDS / found))
        blocks = self._train(None)
        noise = added(blocks)
        with torch.device("meta"):
            parameters = list(Gpt2(Shape()).parameters())
        size = sum(one.numel() for one in parameters)
        return Row(
            "a bare step",
            1000 * noise.bare,
            "ms",
            note=f"{size:,} parameters in {len(parameters)} tensors, batch {self._batch} × "
            f"{Shape.length}, bfloat16 autocast; bare against bare {_error(noise)}",
        )

    def first(self) -> Row:
        """The first job on a machine compiles our kernels; later ones find them in a cache."""
        blocks = self._train(_EVERY_STEP, "--switch", "--pairs", "1")
        longest = max(_steps(blocks, True)) / statistics.median(_steps(blocks, False))
        note = "while kernels for statistics are compiled, once on a machine"
        return Row("the longest step of a machine's first job", longest, "×", note=note)

    def hooked(self, case: Case) -> Row:
        """The hook on and off in turns, inside one process."""
        blocks = self._train(case.config, "--switch")
        step, wall = added(blocks), added_wall(blocks)
        longest = max(_steps(blocks, True)) / step.bare
        note = (
            f"by events {_error(step)}, bare {1000 * step.bare:.3g} ms; by wall {_error(wall)}; "
            f"longest step {longest:.3g}×; {self._account()}"
        )
        return _ratio(case, 1 + step.percent / 100, step.error_percent, note)

    def values(self) -> Row:
        """The longest step while full tensors are fetched and written."""
        steps = 2 * _VALUES_EVERY + 10
        blocks = self._train(_VALUES.config, "--switch", "--pairs", "1", "--steps", str(steps))
        bare = statistics.median(_steps(blocks, False))
        longest = max(_steps(blocks, True)) / bare
        note = (
            f"longest bare step {max(_steps(blocks, False)) / bare:.3g}×; "
            f"all steps {_error(added(blocks))}; {self._account()}"
        )
        return _ratio(_VALUES, longest, 0.0, note)

    def compiled(self, case: Case, mode: str) -> Row:
        """Against a process that has never heard of Sonde, and inside one process."""
        plain = self._train(None, "--compile", mode)
        blocks = self._train(case.config, "--compile", mode, "--switch")
        bare = statistics.median(_steps(plain, False) + _steps(plain, True))
        hooked = statistics.median(_steps(blocks, True))
        inside = added(blocks)
        ratio = max(hooked / bare, 1 + inside.percent / 100)
        note = (
            f"the worse of: median step against a plain process of {1000 * bare:.4g} ms "
            f"{hooked / bare:.4g}×, on and off in turns {_error(inside)}"
        )
        return _ratio(case, ratio, inside.error_percent, note)

    def window(self) -> Row:
        """What a step costs in which PyTorch's profiler is at work, against those before."""
        warm_up = 20
        words = ("--pairs", "1", "--steps", "100", "--warm-up", str(warm_up))
        first, last = (at - warm_up - _IDLE_STEPS for at in (_WINDOW_STEPS[0], _WINDOW_STEPS[-1]))
        one, other = (block.step_seconds for block in self._train(None, *words))
        self._drift = statistics.median(other) / statistics.median(one[: first - 2])
        one, other = (block.step_seconds for block in self._train(_WINDOW_CONFIG, *words))
        self._before_window = statistics.median(one[: first - 2])
        # the process that decodes the trace is done by then
        self._after_window = statistics.median(other)
        profiled = one[first : last + 1]
        note = (
            f"mean of {len(profiled)}, the longest {max(profiled) / self._before_window:.3g}×; "
            f"the step after them {one[last + 1] / self._before_window:.3g}×; {self._account()}"
        )
        ratio = statistics.fmean(profiled) / self._before_window
        return Row("a step in a window of operators", ratio, "×", note=note)

    def after_window(self) -> Row:
        """What a window leaves behind."""
        ratio = self._after_window / self._before_window
        note = (
            f"medians, before {1000 * self._before_window:.4g} ms, after {ratio:.4f}×; "
            f"the same steps of a plain process {self._drift:.4f}×"
        )
        return _ratio(_AFTER_WINDOW, ratio / self._drift, 0.0, note)

    def reference(self, name: str) -> Row:
        """Another way to get statistics."""
        words = ("--reference", name, "--pairs", "3", "--steps", "12")
        found = added(self._train(None, *words))
        note = f"at every step, without Sonde, {_error(found)}"
        return Row(f"reference: {name}", 1 + found.percent / 100, "×", note=note)

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
        """What the hook itself says that it did."""
        workers = self._folder / "jobs" / self._job / "workers"
        beats = [
            json.loads(path.read_text(encoding="utf-8")) for path in workers.rglob("beat.json")
        ]
        if len(beats) != 1:
            return f"{len(beats)} workers recorded"
        (beat,) = beats
        steps = beat["steps"]["train"]
        return (
            f"{steps} steps recorded, {1e6 * beat['hook_seconds'] / steps:.0f} µs in the thread "
            f"that trains, {1e6 * beat['thread_seconds'] / steps:.0f} µs CPU behind it and "
            f"{beat['bytes_written'] / steps:,.0f} bytes each"
        )


def _without_first(block: Block) -> Block:
    return replace(block, step_seconds=block.step_seconds[_IDLE_STEPS:])


def _steps(blocks: Sequence[Block], is_hooked: bool) -> list[float]:
    return [one for block in blocks if block.is_hooked == is_hooked for one in block.step_seconds]


def _ratio(case: Case, ratio: float, error_percent: float, note: str) -> Row:
    bar = "" if case.bar is None else f"≤ {case.bar:g}×"
    is_met = None if case.bar is None else ratio + error_percent / 100 <= case.bar
    return Row(case.title, ratio, "×", bar, is_met, note=note)


def _error(found: Added) -> str:
    return f"{1 + found.percent / 100:.4f} ± {found.error_percent / 100:.4f}"


def _gpu() -> str:
    return torch.cuda.get_device_name() if _IS_GPU else "none"


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python3 -m benchmarks.hook_overhead_h200 FOLDER [COMMIT]")
    sys.exit(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else None))
