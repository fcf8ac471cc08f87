"""How fast a trace is decoded and in how much memory, beside HolisticTraceAnalysis.

The recording of one step on an H200 that the tests have, or the one that SONDE_BENCHMARK_TRACE
names; and the same steps repeated until they make 298 MB. Each reading is a process of its own.
"""

import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.other_tools import install
from benchmarks.report import Row
from benchmarks.trace_copies import write_copies

VERSION = "0.5.0"

_ROOT = Path(__file__).parent.parent
_RECORDING = _ROOT / "tests/golden/kineto_h200_one_step.json.gz"
_LARGE_BYTES = 298_000_000
_MEGABYTE = 1_000_000
_OTHER = f"HolisticTraceAnalysis {VERSION}"
_SAME = 1e-6  # its sums are of floating point numbers


def main() -> list[Row]:
    """Both traces, both tools; SONDE_BENCHMARK_QUICK=1 only shows that everything works."""
    is_quick = bool(os.environ.get("SONDE_BENCHMARK_QUICK"))
    recording = Path(os.environ.get("SONDE_BENCHMARK_TRACE", _RECORDING))
    size = len(gzip.decompress(recording.read_bytes()))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large = folder / "large.json"
        write_copies(recording, large, 2 if is_quick else round(_LARGE_BYTES / size))
        bench = _Bench(folder, 1 if is_quick else 5)
        return [
            *bench.decode(large),
            *bench.compare(f"recording, {size / _MEGABYTE:.0f} MB", recording),
            *bench.compare(f"{large.stat().st_size / _MEGABYTE:.0f} MB", large),
        ]


class _Bench:
    """Reads traces with either tool, again and again."""

    def __init__(self, folder: Path, repeats: int) -> None:
        self._repeats = repeats
        self._other = install(folder / "environment", f"HolisticTraceAnalysis=={VERSION}")

    def decode(self, trace: Path) -> list[Row]:
        """What was promised for a large trace."""
        told = self._ours(trace)
        size = trace.stat().st_size
        speed = size / _MEGABYTE / told["cpu_seconds"]
        what = f"decoding {size / _MEGABYTE:.0f} MB"
        return [
            Row(
                f"{what}: one core",
                speed,
                "MB/s",
                "≥ 80 MB/s",
                speed >= 80,
                note="from the file to columns in order of time, with own times and modules",
            ),
            Row(
                f"{what}: peak memory",
                told["peak_mib"],
                "MiB",
                "≤ 300 MiB",
                told["peak_mib"] <= 300,
            ),
        ]

    def compare(self, what: str, trace: Path) -> list[Row]:
        """The same sums by both, what that took, and how much memory."""
        ours = self._ours(trace)
        theirs = self._read(self._other, "hta", trace)
        _check_same(ours, theirs)
        added, their_added = _added_mib(ours), _added_mib(theirs)
        return [
            Row(
                f"{what}: time on the device by kernel",
                ours["cpu_seconds"],
                "s of CPU",
                "10× as fast",
                theirs["cpu_seconds"] >= 10 * ours["cpu_seconds"],
                _OTHER,
                theirs["cpu_seconds"],
                note=f"the same sums; {ours['wall_seconds']:.3g} s of wall time, "
                f"theirs {theirs['wall_seconds']:.3g} s; libraries were loaded before",
            ),
            Row(
                f"{what}: the same, from the start of Python to the answer",
                ours["process_seconds"],
                "s of CPU",
                alternative=_OTHER,
                alternative_measured=theirs["process_seconds"],
                note="as somebody waits for it who asks once",
            ),
            Row(
                f"{what}: memory on top of the libraries",
                added,
                "MiB",
                "a tenth",
                their_added >= 10 * added,
                _OTHER,
                their_added,
            ),
            Row(
                f"{what}: memory of the process",
                ours["peak_mib"],
                "MiB",
                alternative=_OTHER,
                alternative_measured=theirs["peak_mib"],
                note=f"{ours['before_mib']:.0f} MiB before anything was read, "
                f"theirs {theirs['before_mib']:.0f} MiB",
            ),
        ]

    def _ours(self, trace: Path) -> dict[str, Any]:
        read = [self._read(sys.executable, "sonde", trace) for _ in range(self._repeats)]
        seconds = statistics.median(one["cpu_seconds"] for one in read)
        peak = max(one["peak_mib"] for one in read)
        return {**read[0], "cpu_seconds": seconds, "peak_mib": peak}

    def _read(self, python: str | Path, tool: str, trace: Path) -> dict[str, Any]:
        script = Path(__file__).with_name("trace_totals.py")
        # else it cuts every event to whole microseconds
        variables = {**os.environ, "HTA_DISABLE_NS_ROUNDING": "1"}
        done = subprocess.run(
            [str(python), str(script), tool, str(trace)],
            capture_output=True,
            text=True,
            check=False,
            env=variables,
        )
        if done.returncode:
            sys.exit(f"{tool} cannot read {trace}:\n{done.stderr}")
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return told


def _added_mib(told: dict[str, Any]) -> float:
    return float(told["peak_mib"]) - float(told["before_mib"])


def _check_same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    names = [*ours["kernels"]]
    pairs = [
        (ours["device_operations"], theirs["device_operations"]),
        (ours["device_microseconds"], theirs["device_microseconds"]),
        *((ours["kernels"][name], theirs["kernels"].get(name, 0.0)) for name in names),
    ]
    if any(abs(one - other) > _SAME * one for one, other in pairs):
        sys.exit(f"the sums differ: {ours}\n{theirs}")
