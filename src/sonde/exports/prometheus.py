"""OpenMetrics text for Prometheus.

`promtool tsdb create-blocks-from openmetrics FILE` converts it to blocks. The format requires all
samples of a metric together and in order of time, so the job is read series by series.
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
        for series in selection.series:
            families.setdefault(family_name(series.metric.name), []).append(series)
        for name, members in families.items():
            sink.write(_head(name, members[0].metric).encode())
            for reader in selection.readers:
                for series in members:
                    for batch in selection.batches([series], reader.node):
                        sink.write(_lines(name, selection, series, batch).encode())
                        advance(batch.values.size)
        sink.write(b"# EOF\n")


def family_name(metric: str) -> str:
    """A metric's name in the characters that Prometheus allows."""
    return "sonde_" + re.sub(r"[^a-zA-Z0-9_]", "_", metric)


def escape(text: str) -> str:
    """Escape a text for a label value or help line."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _head(name: str, metric: MetricInfo) -> str:
    lines = [f"# HELP {name} {escape(metric.help)}", f"# TYPE {name} gauge"]
    if metric.unit and name.endswith(f"_{metric.unit}"):  # the format requires this suffix
        lines.insert(1, f"# UNIT {name} {metric.unit}")
    return "\n".join(lines) + "\n"


def _lines(name: str, selection: Selection, series: Series, batch: Batch) -> str:
    lines = []
    statistics = STATISTICS if selection.buckets else ("",)
    for statistic, row in zip(statistics, batch.values, strict=True):
        labels = {"job": selection.job, "node": batch.node, "device": series.device}
        labels["statistic"] = statistic
        label_text = ",".join(f'{key}="{escape(text)}"' for key, text in labels.items() if text)
        is_finite = ~np.isnan(row)
        times = _seconds(batch.times_ns[is_finite])
        values = row[is_finite].astype("U32").tolist()
        lines += [
            f"{name}{{{label_text}}} {value} {time}\n"
            for value, time in zip(values, times, strict=True)
        ]
    return "".join(lines)


def _seconds(times_ns: Instants) -> Iterator[str]:
    """Seconds since the epoch as exact decimals, which a float is not."""
    milliseconds = (times_ns // _MILLISECONDS_NS).tolist()
    per_second = NANOSECONDS // _MILLISECONDS_NS
    return (f"{instant // per_second}.{instant % per_second:03d}" for instant in milliseconds)
