"""Overhead of the hook in programs on a GPU, and how evenly statistics are spread.

`PYTHONPATH=src python3 -m benchmarks.gpu_steps FOLDER [PROGRAM…]` writes gpu_steps.json to the
folder. Most programs are bound by the host. Each trains in one process that alternates between
blocks with and without the hook. Without a GPU, toy models are a functional test. GPU_STEPS_SECONDS
limits the time per program.
"""

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.gpu_programs import PROGRAMS
from benchmarks.hook_overhead import run, sonde_run
from benchmarks.report import Row, describe_environment, table
from benchmarks.small_steps import account, added
from benchmarks.small_training import SmallBlock
from sonde.clock import NANOSECONDS
from sonde.store.backends import open_backend
from sonde.store.format import STATISTICS
from sonde.store.layout import worker_folder
from sonde.store.reader import FolderReader

_BAR_PERCENT = 1.0
_BAR_MICROSECONDS = 100.0
_BAR_GAPS = 3.0  # the longest between two inspections, compared with the median
_SECONDS = float(os.environ.get("GPU_STEPS_SECONDS", "16"))
_BEGINNING_SECONDS = 5.0  # inspections are denser there
_COMPILED = ("gpt_compiled",)


def main(folder: Path, names: Sequence[str]) -> int:
    """Measure the programs."""
    facts = describe_environment()
    rows: list[Row] = []
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            try:
                rows += _measure(Path(scratch), name)
            except SystemExit as error:  # one program failed: continue with the others
                print(error, file=sys.stderr, flush=True)
            document = {"benchmark": "gpu_steps", **facts, "rows": [asdict(row) for row in rows]}
            text = json.dumps(document, indent=1, ensure_ascii=False)
            (folder / "gpu_steps.json").write_text(text + "\n", encoding="utf-8")
    print(table(rows))
    return int(any(row.is_met is False for row in rows))


def _measure(folder: Path, name: str) -> list[Row]:
    document = _train(folder, name)
    blocks = [SmallBlock(**block) for block in document["blocks"]]
    bare = [block.wall_seconds / block.units for block in blocks if not block.is_hooked]
    percent, error = added(blocks, "wall_seconds")
    cpu_percent, _ = added(blocks, "cpu_seconds")
    step = statistics.median(bare)
    reported = account(document["accounts"])[0]
    return [
        Row(
            f"{name}, {1000 * step:.3g} ms per step",
            percent,
            "%",
            f"≤ {_BAR_PERCENT:g}%",
            percent - error <= _BAR_PERCENT,
            "self-reported",
            reported,
            f"± {error:.2f}%, {1e6 * percent / 100 * step:.0f} µs per step; "
            f"CPU time of the training thread {cpu_percent:.2f}%; {len(blocks) // 2} pairs",
        ),
        _spread(folder / "jobs" / name, name),
    ]


def _train(folder: Path, name: str) -> dict[str, Any]:
    file = folder / f"{name}.json"
    switch = "pause" if name in _COMPILED else "remove"
    words = ("--switch", switch, "--seconds", str(_SECONDS))
    command = [sys.executable, "-m", "benchmarks.small_training", name, str(file), *words]
    run([*sonde_run(folder, name, ""), *command])
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


def _spread(job: Path, name: str) -> Row:
    """How evenly the steps with statistics are spread after the first seconds."""
    backend = open_backend(job.as_uri())
    reader = FolderReader(backend, worker_folder(0), STATISTICS)
    reader.refresh()
    rows = reader.rows(columns=("step", "time_ns")).to_pylist()
    times = {row["step"]: row["time_ns"] / NANOSECONDS for row in rows}
    moments = sorted(times.values())
    later = [time for time in moments if time > moments[0] + _BEGINNING_SECONDS]
    gaps = [end - start for start, end in pairwise(later)]
    ratio = max(gaps) / statistics.median(gaps) if gaps else float("inf")
    return Row(
        f"{name}, longest gap between statistics",
        ratio,
        "× the median",
        f"≤ {_BAR_GAPS:g}",
        ratio <= _BAR_GAPS,
        note=f"{len(moments)} steps with statistics in {moments[-1] - moments[0]:.0f} s, "
        f"{len(later)} of them after the first {_BEGINNING_SECONDS:g} s"
        if moments
        else "no statistics",
    )


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python3 -m benchmarks.gpu_steps FOLDER [PROGRAM…]")
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:] or list(PROGRAMS)))
