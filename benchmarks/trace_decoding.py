"""Speed and memory of decoding a trace, compared with HolisticTraceAnalysis.

Reads the recording of one step on an H200 from the tests, or SONDE_BENCHMARK_TRACE, and the same
steps repeated up to 298 MB. Each run is a separate process.
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
_ALTERNATIVE = f"HolisticTraceAnalysis {VERSION}"
_SAME = 1e-6  # relative; HTA adds floating-point numbers


def main() -> list[Row]:
    """Measure both traces with both tools; SONDE_BENCHMARK_QUICK=1 is a quick functional test."""
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
    """Reads traces with both tools."""

    def __init__(self, folder: Path, repeats: int) -> None:
        self._repeats = repeats
        self._other = install(folder / "environment", f"HolisticTraceAnalysis=={VERSION}")

    def decode(self, trace: Path) -> list[Row]:
        """Measure speed and memory for a large trace."""
        totals = self._ours(trace)
        size = trace.stat().st_size
        speed = size / _MEGABYTE / totals["cpu_seconds"]
        what = f"decoding {size / _MEGABYTE:.0f} MB"
        return [
            Row(
                f"{what}: speed on one core",
                speed,
                "MB/s",
                "≥ 80 MB/s",
                speed >= 80,
                note="from the file to columns sorted by time, with self times and modules",
            ),
            Row(
                f"{what}: peak memory",
                totals["peak_mib"],
                "MiB",
                "≤ 300 MiB",
                totals["peak_mib"] <= 300,
            ),
        ]

    def compare(self, what: str, trace: Path) -> list[Row]:
        """Compare time and memory of both tools for the same sums."""
        ours = self._ours(trace)
        theirs = self._read(self._other, "hta", trace)
        _check_same(ours, theirs)
        return [*_time_rows(what, ours, theirs), *_memory_rows(what, ours, theirs)]

    def _ours(self, trace: Path) -> dict[str, Any]:
        runs = [self._read(sys.executable, "sonde", trace) for _ in range(self._repeats)]
        seconds = statistics.median(totals["cpu_seconds"] for totals in runs)
        peak = max(totals["peak_mib"] for totals in runs)
        return {**runs[0], "cpu_seconds": seconds, "peak_mib": peak}

    def _read(self, python: str | Path, tool: str, trace: Path) -> dict[str, Any]:
        script = Path(__file__).with_name("trace_totals.py")
        # otherwise, it truncates times to microseconds
        variables = {**os.environ, "HTA_DISABLE_NS_ROUNDING": "1"}
        done = subprocess.run(
            [str(python), str(script), tool, str(trace)],
            capture_output=True,
            text=True,
            check=False,
            env=variables,
        )
        if done.returncode:
            sys.exit(f"{tool} failed to read {trace}:\n{done.stderr}")
        totals: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return totals


def _time_rows(what: str, ours: dict[str, Any], theirs: dict[str, Any]) -> list[Row]:
    return [
        Row(
            f"{what}: device time by kernel",
            ours["cpu_seconds"],
            "CPU-seconds",
            "10× as fast",
            theirs["cpu_seconds"] >= 10 * ours["cpu_seconds"],
            _ALTERNATIVE,
            theirs["cpu_seconds"],
            note=f"same sums; wall time {ours['wall_seconds']:.3g} s, "
            f"alternative {theirs['wall_seconds']:.3g} s; libraries already loaded",
        ),
        Row(
            f"{what}: the same, including Python startup",
            ours["process_seconds"],
            "CPU-seconds",
            alternative=_ALTERNATIVE,
            alternative_measured=theirs["process_seconds"],
            note="time of a single query",
        ),
    ]


def _memory_rows(what: str, ours: dict[str, Any], theirs: dict[str, Any]) -> list[Row]:
    added, their_added = _added_mib(ours), _added_mib(theirs)
    return [
        Row(
            f"{what}: memory added to the libraries",
            added,
            "MiB",
            "≤ 1/10",
            their_added >= 10 * added,
            _ALTERNATIVE,
            their_added,
        ),
        Row(
            f"{what}: process memory",
            ours["peak_mib"],
            "MiB",
            alternative=_ALTERNATIVE,
            alternative_measured=theirs["peak_mib"],
            note=f"{ours['before_mib']:.0f} MiB before reading, "
            f"alternative {theirs['before_mib']:.0f} MiB",
        ),
    ]


def _added_mib(totals: dict[str, Any]) -> float:
    return float(totals["peak_mib"]) - float(totals["before_mib"])


def _check_same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    names = [*ours["kernels"]]
    pairs = [
        (ours["device_operations"], theirs["device_operations"]),
        (ours["device_microseconds"], theirs["device_microseconds"]),
        *((ours["kernels"][name], theirs["kernels"].get(name, 0.0)) for name in names),
    ]
    if any(abs(our_value - their_value) > _SAME * our_value for our_value, their_value in pairs):
        sys.exit(f"The sums differ: {ours}\n{theirs}")
