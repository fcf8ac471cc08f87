"""Draws the curves of `examples/heavy_work.sh`: `python -m docs.pictures.draw_heavy JOB`."""

import sys
from pathlib import Path

import sonde
from benchmarks.picture import Curve, draw

_CURVES = (
    ("cpu.utilization_percent", "", "CPU, all cores", "%", 1),
    ("process_tree.cpu_percent", "", "CPU of the job's processes", "% of one core", 1),
    ("process_tree.processes", "", "processes of the job", "", 1),
    ("process_tree.rss_bytes", "", "memory of the job's processes", "GB", 1e9),
    ("memory.cached_bytes", "", "page cache", "GB", 1e9),
    ("disk.write_bytes_per_second", None, "disk writes", "MB/s", 1e6),
    ("cpu.iowait_percent", "", "I/O wait", "%", 1),
)
_BUCKETS = 400


def draw_job(name: str) -> str:
    """The curves as SVG, averaged over a few seconds each."""
    job = sonde.open_job(name)
    start_ns = job.facts.start_ns or 0
    seconds = job.summary["duration_seconds"]
    curves = []
    for metric, device, title, unit, scale in _CURVES:
        [(_, rollup)] = job.system(metric, device=device).buckets(_BUCKETS).rollups
        middles = (rollup.starts_ns + rollup.width_ns / 2 - start_ns) / 1e9
        curves.append(Curve(title, unit, middles, rollup.mean[0] / scale))
    return draw(f"{job.name}: {seconds:.0f} s", curves, (), seconds)


if __name__ == "__main__":
    Path(__file__).with_name("heavy.svg").write_text(draw_job(sys.argv[1]))
