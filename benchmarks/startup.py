"""Time that `sonde run` adds to a trivial command, and to the start of any Python process."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.report import Row
from sonde.hook import inject

_RUNS = 21
_STARTS = 201  # many, because the difference is smaller than the noise
_BAR_SECONDS = 0.35
_PASS = (sys.executable, "-c", "pass")
_REMOVED_VARIABLES = ("SONDE_", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")

Seconds = list[float]


def main() -> list[Row]:
    """Measure wall time, alternating with and without Sonde."""
    with tempfile.TemporaryDirectory() as folder:
        sonde = [sys.executable, "-m", "sonde", "run", "--store", folder]
        alone = [*sonde, "--no-rules", "--no-report", "true"]
        with_sonde, without = map(statistics.median, _alternate(alone, ["true"]))
        with_defaults, _ = map(statistics.median, _alternate([*sonde, "true"], ["true"]))
    importing, bare = map(statistics.median, _alternate([*_PASS[:2], "import sonde"], _PASS))
    added = with_sonde - without
    return [
        Row(
            "sonde run --no-rules --no-report true: time added",
            added,
            "s",
            bar=f"≤ {_BAR_SECONDS} s",
            is_met=added <= _BAR_SECONDS,
            note=f"wall time, medians of {_RUNS}: {with_sonde:.3f} s with Sonde, "
            f"{without:.4f} s without",
        ),
        Row("sonde run true, with the defaults: time added", with_defaults - without, "s"),
        Row("import sonde: time added", 1000 * (importing - bare), "ms"),
        Row("modules loaded by import sonde", _modules(), ""),
        _process_start("with bytecode", {}),
        _process_start("compiled at every start", {"PYTHONDONTWRITEBYTECODE": "1"}),
    ]


def _process_start(how: str, variables: Mapping[str, str]) -> Row:
    """Measure what sitecustomize adds to a process that does not train."""
    plain = {
        name: text for name, text in os.environ.items() if not name.startswith(_REMOVED_VARIABLES)
    }
    plain |= variables
    with tempfile.TemporaryDirectory() as folder:
        # a copy without bytecode; if possible, the first start, which does not count, writes it
        path = Path(folder, "sonde", "hook", "inject")
        shutil.copytree(Path(inject.__file__).parent, path, ignore=lambda *_: ["__pycache__"])
        entered = {**plain, "PYTHONPATH": str(path), "SONDE_JOB_URI": folder}
        with_sonde, without = _alternate(_PASS, _PASS, (entered, plain), _STARTS)
        has_bytecode = (path / "__pycache__").exists()
    assert has_bytecode == (not variables), (
        "bytecode exists although it should not, or does not exist"
    )
    medians = [1000 * statistics.median(seconds) for seconds in (with_sonde, without)]
    minima = [1000 * min(seconds) for seconds in (with_sonde, without)]
    return Row(
        f"start of a Python process that does not train, {how}: time added",
        medians[0] - medians[1],
        "ms",
        note=f"python -c pass, {_STARTS} starts each, alternating: medians {medians[0]:.2f} ms "
        f"with Sonde, {medians[1]:.2f} ms without; minima {minima[0]:.2f} and {minima[1]:.2f} ms, "
        f"a difference of {minima[0] - minima[1]:.2f} ms",
    )


def _alternate(
    ours: Sequence[str],
    bare: Sequence[str],
    environments: tuple[Mapping[str, str], Mapping[str, str]] = (os.environ, os.environ),
    runs: int = _RUNS,
) -> tuple[Seconds, Seconds]:
    """Return wall times of alternating runs, so that both see the same load.

    The first run of each, with cold caches, is excluded.
    """
    with_sonde, without = environments
    pairs = [(_seconds(ours, with_sonde), _seconds(bare, without)) for _ in range(runs + 1)][1:]
    return [seconds for seconds, _ in pairs], [seconds for _, seconds in pairs]


def _seconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return time.perf_counter() - started


def _modules() -> int:
    program = (
        "import sys; before = len(sys.modules); import sonde; print(len(sys.modules) - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return int(done.stdout)
