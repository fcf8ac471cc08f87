"""Read one trace and print totals, time and memory.

`trace_decoding` starts it as `python trace_totals.py sonde|hta TRACE` with the Python of each tool.
Prints one line of JSON: CPU and wall time in seconds, MiB at the peak and before reading, device
microseconds, and the kernels with the most time.
"""

import json
import logging
import resource
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

_TOP = 10


def main() -> None:
    """Measure one of the tools."""
    tool, trace = sys.argv[1], Path(sys.argv[2])
    logging.disable()
    read = {"sonde": _sonde, "hta": _hta}[tool]()
    before = _peak_mib()
    wall, cpu = time.perf_counter(), _cpu_seconds()
    totals = read(trace)
    document = {
        "cpu_seconds": _cpu_seconds() - cpu,
        "wall_seconds": time.perf_counter() - wall,
        "process_seconds": _cpu_seconds(),
        "peak_mib": _peak_mib(),
        "before_mib": before,
        **totals,
    }
    print(json.dumps(document))


def _sonde() -> Any:
    np = import_module("numpy")
    decode_trace = import_module("sonde.traces.operations").decode_trace
    categories = list(import_module("sonde.records.profile").OperationCategory)

    def read(path: Path) -> dict[str, Any]:
        trace = decode_trace(path)
        on_device = [categories.index(name) for name in ("kernel", "copy", "set")]
        is_device = np.isin(trace.category, on_device)
        # HTA counts operations that were started before the end of the last step
        steps = [n for n, name in enumerate(trace.names) if name.startswith("ProfilerStep")]
        ends = (trace.start_ns + trace.duration_ns)[np.isin(trace.name, steps) & ~is_device]
        calls = trace.correlation[~is_device & (trace.start_ns <= ends.max())]
        is_counted = is_device & np.isin(trace.correlation, calls[calls > 0])
        names, durations = trace.name[is_counted], trace.duration_ns[is_counted] / 1000
        sums = np.bincount(names, durations, minlength=len(trace.names))
        top = np.argsort(-sums)[:_TOP].tolist()
        return {
            "device_microseconds": float(durations.sum()),
            "device_operations": len(names),
            "kernels": {trace.names[index]: float(sums[index]) for index in top},
        }

    return read


def _hta() -> Any:
    analysis = import_module("hta.trace_analysis").TraceAnalysis

    def read(path: Path) -> dict[str, Any]:
        trace = analysis(
            trace_files={0: str(path)}, trace_dir=str(path.parent), include_last_profiler_step=True
        )
        frame = trace.t.get_trace(0)
        on_device = frame[frame["stream"] >= 0]
        sums = on_device.groupby("name")["dur"].sum().sort_values(ascending=False)[:_TOP]
        names = trace.t.symbol_table.get_sym_table()
        return {
            "device_microseconds": float(on_device["dur"].sum()),
            "device_operations": len(on_device),
            "kernels": {names[number]: float(total) for number, total in sums.items()},
        }

    return read


def _cpu_seconds() -> float:
    spent = (
        resource.getrusage(target) for target in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


def _peak_mib() -> float:
    """Return the peak of this process; `getrusage` includes the parent's peak."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(peak) / 1024


if __name__ == "__main__":
    main()
