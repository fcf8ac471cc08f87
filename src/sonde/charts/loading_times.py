"""How long loading took: the distribution of each operation of the loaders."""

import numpy as np

from sonde.analyze.durations import Reals, binned, durations_of
from sonde.charts._chart import Chart
from sonde.formats import format_duration, pluralize
from sonde.records.chart import Column, Group, Histogram, Part, Spec, Table
from sonde.records.loading import SINGLE_ITEMS, Operation
from sonde.results.job import JobResults

_BINS = 40
_FEW = 5  # batches, of which a percentile tells nothing
_SHOWN = (
    Operation.BATCH,
    Operation.ITEM,
    Operation.COLLATION,
    Operation.WAIT,
    Operation.PINNING,
    Operation.TRANSFER,
    Operation.START,
)
_DRAWN = (Operation.BATCH, Operation.WAIT)


class LoadingTimes(Chart):
    """The distribution of data loading times: p25, median, p95."""

    title = "Data loading times"
    pages = ("overview",)
    section = "loading"
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        seconds: dict[str, list[float]] = {}
        for report in job.dataloader(worker=self.worker).reports:
            for operation, own in report.record.seconds.items():
                seconds.setdefault(operation, []).extend(own)
        known = {one.value: np.array(seconds[one]) for one in _SHOWN if seconds.get(one)}
        if not known:
            return None
        table = Table(
            title="Where the time of a batch goes",
            columns=(
                Column(name="operation", title="Operation", is_number=False),
                Column(name="count", title="Count"),
                *(
                    Column(name=name, title=title, unit="seconds")
                    for name, title in (("p25", "p25"), ("p50", "Median"), ("p95", "p95"))
                ),
                Column(name="maximum", title="Max", unit="seconds"),
                Column(name="total", title="Total", unit="seconds"),
            ),
            rows=tuple(
                (name, len(own), *_quartiles(own), float(own.max()), _total(name, own))
                for name, own in known.items()
            ),
        )
        drawn = {name: known[name] for name in _DRAWN if name in known}
        parts = (_histogram(drawn), table) if drawn else (table,)
        return Group(title=self.title, note=_sentence(drawn), parts=parts)


def _histogram(drawn: dict[Operation, Reals]) -> Histogram:
    highest = max(durations_of(own).p99 for own in drawn.values()) * 1.5
    edges, counts = binned(list(drawn.values()), _BINS, highest)
    beyond = sum(int((own > highest).sum()) for own in drawn.values())
    return Histogram(
        title="Distribution of loading times",
        note=f"{beyond} longer than {format_duration(highest)} are in the last bar."
        if beyond
        else "",
        edges=tuple(edges.tolist()),
        parts=tuple(
            Part(
                label="waiting for a batch" if name is Operation.WAIT else "making a batch",
                values=tuple(row.tolist()),
                tone="data_wait" if name is Operation.WAIT else "cpu",
            )
            for name, row in zip(drawn, counts, strict=True)
        ),
        unit="seconds",
        counted="batches",
    )


def _total(operation: str, seconds: Reals) -> float | None:
    return None if operation in SINGLE_ITEMS else float(seconds.sum())


def _quartiles(seconds: Reals) -> tuple[float, ...]:
    return tuple(float(one) for one in np.percentile(seconds, (25, 50, 95)))


def _sentence(drawn: dict[Operation, Reals]) -> str:
    own = drawn.get(Operation.BATCH)
    if own is None:
        return ""
    p25, p50, p95 = map(format_duration, _quartiles(own))
    if len(own) < _FEW:
        timed = pluralize(len(own), "batch", "batches")
        return f"The median time to make a batch was {p50} ({timed} timed)."
    return f"The median time to make a batch was {p50}; p25 {p25}, p95 {p95}."
