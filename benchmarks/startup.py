"""What `sonde run` adds to the shortest of commands, and what we cost a Python that only starts."""

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
_STARTS = 201  # a start differs by less than one differs from the next
_BAR_SECONDS = 0.35
_PASS = (sys.executable, "-c", "pass")
_NOT_OURS = ("SONDE_", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")

Seconds = list[float]


def main() -> list[Row]:
    """Wall time, the command with and without us in turns."""
    with tempfile.TemporaryDirectory() as folder:
        sonde = [sys.executable, "-m", "sonde", "run", "--store", folder]
        alone = [*sonde, "--no-rules", "--no-report", "true"]
        with_us, without = map(statistics.median, _in_turns(alone, ["true"]))
        with_report, _ = map(statistics.median, _in_turns([*sonde, "true"], ["true"]))
    importing, bare = map(statistics.median, _in_turns([*_PASS[:2], "import sonde"], _PASS))
    added = with_us - without
    return [
        Row(
            "sonde run --no-rules --no-report true, over true",
            added,
            "s",
            bar=f"≤ {_BAR_SECONDS} s",
            is_met=added <= _BAR_SECONDS,
            note=f"wall time, medians of {_RUNS}: {with_us:.3f} s with us, {without:.4f} s without",
        ),
        Row("sonde run true, with its report, over true", with_report - without, "s"),
        Row("import sonde, over a bare Python", 1000 * (importing - bare), "ms"),
        Row("modules that import sonde loads", _modules(), ""),
        _injected("with bytecode", {}),
        _injected("compiled anew", {"PYTHONDONTWRITEBYTECODE": "1"}),
    ]


def _injected(how: str, variables: Mapping[str, str]) -> Row:
    """A process of a job that trains nothing: what the module at its start adds."""
    plain = {name: text for name, text in os.environ.items() if not name.startswith(_NOT_OURS)}
    plain |= variables
    with tempfile.TemporaryDirectory() as folder:
        # a copy without bytecode; where it may be kept, the first start, which is not counted, does
        path = Path(folder, "sonde", "hook", "inject")
        shutil.copytree(Path(inject.__file__).parent, path, ignore=lambda *_: ["__pycache__"])
        entered = {**plain, "PYTHONPATH": str(path), "SONDE_JOB_URI": folder}
        with_us, without = _in_turns(_PASS, _PASS, (entered, plain), _STARTS)
        is_kept = (path / "__pycache__").exists()
    assert is_kept == (not variables), (
        "bytecode was kept where it should not be, or not where it should"
    )
    medians = [1000 * statistics.median(one) for one in (with_us, without)]
    minima = [1000 * min(one) for one in (with_us, without)]
    return Row(
        f"the module at the start of a Python that does not train, {how}",
        medians[0] - medians[1],
        "ms",
        note=f"python -c pass, {_STARTS} starts each, in turns: medians {medians[0]:.2f} ms with "
        f"us, {medians[1]:.2f} ms without; minima {minima[0]:.2f} and {minima[1]:.2f} ms, "
        f"which differ by {minima[0] - minima[1]:.2f} ms",
    )


def _in_turns(
    ours: Sequence[str],
    bare: Sequence[str],
    environments: tuple[Mapping[str, str], Mapping[str, str]] = (os.environ, os.environ),
    runs: int = _RUNS,
) -> tuple[Seconds, Seconds]:
    """Wall times; in turns, so that both meet the same moods of the machine.

    The first of each is left out: it finds nothing in any cache.
    """
    with_us, without = environments
    pairs = [(_seconds(ours, with_us), _seconds(bare, without)) for _ in range(runs + 1)][1:]
    return [one for one, _ in pairs], [one for _, one in pairs]


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
