"""Resource usage of a job: a table per node."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from sonde.formats import format_value
from sonde.terminal.tables import table

_STATISTICS = ("minimum", "p50", "p95", "maximum")
_NAMES = {
    "cpu.utilization_percent": "CPU",
    "cpu.iowait_percent": "I/O wait",
    "memory.used_bytes": "memory",
    "process_tree.rss_bytes": "job memory",
    "gpu.utilization_percent": "GPU",
    "gpu.memory_used_bytes": "GPU memory",
    "disk.read_bytes_per_second": "disk read",
    "disk.write_bytes_per_second": "disk write",
    "network.receive_bytes_per_second": "network in",
    "network.transmit_bytes_per_second": "network out",
}
RESOURCES = tuple(_NAMES)  # in the order of the table


def resource_lines(resources: Sequence[Mapping[str, Any]]) -> list[Text]:
    """A table per node: minimum, median, 95th percentile and maximum, each with its unit."""
    lines: list[Text] = []
    for node in dict.fromkeys(row["node"] for row in resources):
        rows = [
            (
                _resource_name(row),
                *(format_value(row[name], row["unit"]) for name in _STATISTICS),
            )
            for row in resources
            if row["node"] == node and not _is_idle(row)
        ]
        lines.append(Text())
        lines += table([(f"on {node}", "min", "p50", "p95", "max"), *rows], left_columns=1)
    return lines


def _is_idle(row: Mapping[str, Any]) -> bool:
    """Whether a disk or network interface had no traffic."""
    return row["metric"].startswith(("disk.", "network.")) and not row["maximum"]


def _resource_name(row: Mapping[str, Any]) -> str:
    name = _NAMES.get(row["metric"], row["metric"])
    return f"{name} {row['device']}".rstrip()
