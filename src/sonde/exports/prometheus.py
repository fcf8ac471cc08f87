"""OpenMetrics text, as Prometheus and its relatives take it in.

`promtool tsdb create-blocks-from openmetrics FILE` makes blocks of it. All samples of a metric
stand together and in order of time, as the format demands; so the job is read series by series.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.exports._export import STATISTICS, Advance, Batch, Export, Selection
from sonde.records.metric import MetricInfo, Series
from sonde.store.rollups import Instants

_MILLISECONDS_NS = 1_000_000


class Prometheus(Export):
    """OpenMetrics text with HELP, TYPE, UNIT, labels job, node and device, and timestamps."""

    def write(self, selection: Selection, sink: BinaryIO, advance: Advance) -> None:
        families: dict[str, list[Series]] = {}
        for one in selection.series:
            families.setdefault(family_name(one.metric.name), []).append(one)
        for name, members in families.items():
            sink.write(_head(name, members[0].metric).encode())
            for reader in selection.readers:
                for one in members:
                    for batch in selection.batches([one], reader.node):
                        sink.write(_lines(name, selection, one, batch).encode())
                        advance(batch.values.size)
        sink.write(b"# EOF\n")


def family_name(metric: str) -> str:
    """A metric's name within Prometheus' alphabet."""
    return "sonde_" + re.sub(r"[^a-zA-Z0-9_]", "_", metric)


def escape(text: str) -> str:
    """A text as it stands in a label value or a help line."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _head(name: str, metric: MetricInfo) -> str:
    lines = [f"# HELP {name} {escape(metric.help)}", f"# TYPE {name} gauge"]
    if metric.unit and name.endswith(f"_{metric.unit}"):  # the format demands that suffix
        lines.insert(1, f"# UNIT {name} {metric.unit}")
    return "\n".join(lines) + "\n"


def _lines(name: str, selection: Selection, one: Series, batch: Batch) -> str:
    parts = []
    statistics = STATISTICS if selection.buckets else ("",)
    for statistic, row in zip(statistics, batch.values, strict=True):
        labels = {"job": selection.job, "node": batch.node, "device": one.device}
        labels["statistic"] = statistic
        said = ",".join(f'{key}="{escape(text)}"' for key, text in labels.items() if text)
        known = ~np.isnan(row)
        times = _seconds(batch.times_ns[known])
        values = row[known].astype("U32").tolist()
        parts += [
            f"{name}{{{said}}} {value} {time}\n" for value, time in zip(values, times, strict=True)
        ]
    return "".join(parts)


def _seconds(times_ns: Instants) -> Iterator[str]:
    """Seconds since the epoch; exact, which a float would not be."""
    milliseconds = (times_ns // _MILLISECONDS_NS).tolist()
    per_second = NANOSECONDS // _MILLISECONDS_NS
    return (f"{one // per_second}.{one % per_second:03d}" for one in milliseconds)
