"""Low GPU utilization and the load of the host at the same time, for the bottleneck charts."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from sonde.analyze.bottlenecks import find_bottleneck
from sonde.analyze.resources import BUSY_GPU_PERCENT, mean_of_devices
from sonde.formats import format_percent, pluralize
from sonde.read.system import SystemReader
from sonde.read.workers import WorkerReader
from sonde.records.chart import BarSeries, Column, Group, Spec, StackedBars, Table
from sonde.records.step import Phase
from sonde.results.idle import Gaps
from sonde.results.job import JobResults
from sonde.results.machines import GPU, readers_of, samples_of
from sonde.results.phase_lookup import (
    OUTSIDE_STEPS,
    in_order,
    mode_track,
    phase_track,
    readable_name,
)

_IDLE = f"below {format_percent(BUSY_GPU_PERCENT)}"
_MAX_NODES = 32
_MAX_OPERATORS = 10


@dataclass
class _Totals:
    """Results of all nodes."""

    rows: list[tuple[str, float, float, int]] = field(default_factory=list)
    modes: dict[str, Counter[str]] = field(default_factory=dict)
    phases: dict[str, Counter[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """The host metric that is compared with GPU utilization."""

    title: str
    metric: str
    condition: str  # such as "CPU utilization above 90%"
    limit: float


def bottleneck_chart(job: JobResults, question: Question, node: str | None) -> Spec | None:
    """Share of low GPU utilization that coincides with a busy host, by node, mode and phase."""
    totals = _Totals()
    workers = {reader.rank: reader for reader in job.steps(None).readers}
    for reader in readers_of(job, node):
        local_workers = [
            workers[life.info.rank] for life in job.lives if life.info.node == reader.node
        ]
        _add_node(reader, local_workers[0] if local_workers else None, question, totals)
    if not totals.rows:
        return None
    totals.rows.sort(key=lambda row: -row[2])
    specs: list[Spec] = [_table(question, totals)]
    specs += list(_splits(totals))
    specs += list(_gap_tables(job.gaps()))
    return Group(title=question.title, note=_sentence(question, totals), parts=tuple(specs))


def _add_node(
    reader: SystemReader, worker: WorkerReader | None, question: Question, totals: _Totals
) -> None:
    gpu = samples_of(reader, GPU)
    host = samples_of(reader, question.metric, is_whole=True)
    if gpu is None or host is None:
        return
    load, used = mean_of_devices(host.values), mean_of_devices(gpu.values)
    bottleneck = find_bottleneck(load, used, question.limit, BUSY_GPU_PERCENT)
    totals.rows.append(
        (reader.node, bottleneck.low_percent, bottleneck.held_up_percent, bottleneck.count)
    )
    if worker is None or not bottleneck.is_low.any():
        return
    modes, phases = mode_track(worker), phase_track(worker)
    kinds = {
        "host saturated": bottleneck.is_held_up,
        "other causes": bottleneck.is_low & ~bottleneck.is_held_up,
    }
    for kind, marks in kinds.items():
        times_ns = host.times_ns[marks]
        totals.modes.setdefault(kind, Counter()).update(modes.at(times_ns, OUTSIDE_STEPS))
        totals.phases.setdefault(kind, Counter()).update(phases.at(times_ns, Phase.BETWEEN.value))


def _table(question: Question, totals: _Totals) -> Table:
    return Table(
        title="By node",
        columns=(
            Column(name="node", title="Node", is_number=False),
            Column(name="low", title=f"GPUs {_IDLE}", unit="percent", tone="gpu"),
            Column(
                name="held_up", title=f"… with {question.condition}", unit="percent", tone="warning"
            ),
            Column(name="samples", title="Samples"),
        ),
        rows=tuple(totals.rows[:_MAX_NODES]),
        total=len(totals.rows) if len(totals.rows) > _MAX_NODES else None,
    )


def _splits(totals: _Totals) -> Iterator[Spec]:
    """Modes and phases of the training during samples with idle GPUs."""
    for title, counts in (
        ("Idle GPU samples by mode", totals.modes),
        ("Idle GPU samples by phase", totals.phases),
    ):
        names = in_order([name for count in counts.values() for name in count])
        samples = sum(sum(count.values()) for count in counts.values())
        if samples:
            yield StackedBars(
                title=title,
                labels=tuple(counts),
                parts=tuple(
                    BarSeries(
                        label=readable_name(name),
                        values=tuple(100 * count[name] / samples for count in counts.values()),
                        tone=name,
                    )
                    for name in names
                ),
                unit="percent",
            )


def _gap_tables(gaps: Gaps) -> Iterator[Table]:
    """Causes of idle device time in profiled steps, and the operators that ended it."""
    rows = gaps.places().documents() if gaps.rows else []
    if rows:
        yield Table(
            title="Idle GPU time in profiled steps by operator",
            columns=(
                Column(name="cause", title="Cause", is_number=False),
                Column(name="operator", title="Operator", is_number=False),
                Column(name="phase", title="Phase", is_number=False),
                Column(name="gaps", title="Gaps"),
                Column(name="percent", title="Share of time", unit="percent", tone="warning"),
                Column(name="total", title="Total", unit="seconds"),
            ),
            rows=tuple(
                (
                    *(each[name] for name in ("cause", "operator", "phase", "gaps", "percent")),
                    each["total_seconds"],
                )
                for each in rows[:_MAX_OPERATORS]
            ),
            total=len(rows),
        )


def _sentence(question: Question, totals: _Totals) -> str:
    count = sum(row[3] for row in totals.rows)
    low = sum(row[1] * row[3] for row in totals.rows) / max(1, count)
    busy_percent = sum(row[2] * row[3] for row in totals.rows) / max(1, count)
    if not low:
        return f"GPU utilization was never {_IDLE} ({pluralize(count, 'sample')})."
    coinciding = format_percent(busy_percent, 1) if busy_percent else "none"
    return (
        f"GPU utilization was {_IDLE} in {format_percent(low, 1)} of "
        f"{pluralize(count, 'sample')}; {coinciding} coincided with {question.condition}."
    )
