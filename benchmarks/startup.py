"""What `sonde run` adds to the shortest of commands, and what `import sonde` costs a program."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks.report import Row

_RUNS = 21
_BAR_SECONDS = 0.35


def main() -> list[Row]:
    """Wall time, the command with and without us in turns."""
    with tempfile.TemporaryDirectory() as folder:
        sonde = [sys.executable, "-m", "sonde", "run", "--store", folder]
        sonde += ["--no-rules", "--no-report", "true"]
        with_us, without = _in_turns(sonde, ["true"])
    importing, bare = _in_turns(
        [sys.executable, "-c", "import sonde"], [sys.executable, "-c", "pass"]
    )
    added = with_us - without
    return [
        Row(
            "sonde run true, over true",
            added,
            "s",
            bar=f"≤ {_BAR_SECONDS} s",
            is_met=added <= _BAR_SECONDS,
            note=f"wall time, medians of {_RUNS}: {with_us:.3f} s with us, {without:.4f} s without",
        ),
        Row("import sonde, over a bare Python", 1000 * (importing - bare), "ms"),
        Row("modules that import sonde loads", _modules(), ""),
    ]


def _in_turns(ours: Sequence[str], bare: Sequence[str]) -> tuple[float, float]:
    """Median wall times; in turns, so that both meet the same moods of the machine."""
    pairs = [(_seconds(ours), _seconds(bare)) for _ in range(_RUNS + 1)][1:]
    return statistics.median(one for one, _ in pairs), statistics.median(one for _, one in pairs)


def _seconds(command: Sequence[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=os.environ)
    return time.perf_counter() - started


def _modules() -> int:
    program = (
        "import sys; before = len(sys.modules); import sonde; print(len(sys.modules) - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return int(done.stdout)
