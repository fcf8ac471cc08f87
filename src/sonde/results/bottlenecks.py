"""Low GPU utilization and the load of the host at the same time, for the bottleneck charts."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from sonde.analyze.bottlenecks import find_bottleneck
from sonde.analyze.resources import mean_of_devices
from sonde.formats import format_percent, pluralize
from sonde.read.system import SystemReader
from sonde.read.workers import WorkerReader
from sonde.records.chart import BarSeries, Column, Group, Spec, StackedBars, Table
from sonde.records.step import Phase
from sonde.results.idle import Gaps
from sonde.results.job import JobResults
from sonde.results.machines import GPU, readers_of, samples_of
from sonde.results.phase_lookup import OTHERS, in_order, mode_track, phase_track, spoken

GPU_LIMIT = 10.0  # percent; below it, GPUs count as idle
_SHOWN_NODES = 32
_SHOWN_PLACES = 10


@dataclass
class _Found:
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


def bottleneck_chart(job: JobResults, asked: Question, node: str | None) -> Spec | None:
    """Share of low GPU utilization that coincides with a busy host, by node, mode and phase."""
    found = _Found()
    workers = {reader.rank: reader for reader in job.steps(None).readers}
    for reader in readers_of(job, node):
        own = [workers[one.info.rank] for one in job.lives if one.info.node == reader.node]
        _look(reader, own[0] if own else None, asked, found)
    if not found.rows:
        return None
    found.rows.sort(key=lambda row: -row[2])
    parts: list[Spec] = [_table(asked, found)]
    parts += list(_splits(found))
    parts += list(_gap_tables(job.gaps()))
    return Group(title=asked.title, note=_sentence(asked, found), parts=tuple(parts))


def _look(
    reader: SystemReader, worker: WorkerReader | None, asked: Question, found: _Found
) -> None:
    gpu = samples_of(reader, GPU)
    host = samples_of(reader, asked.metric, is_whole=True)
    if gpu is None or host is None:
        return
    load, used = mean_of_devices(host.values), mean_of_devices(gpu.values)
    one = find_bottleneck(load, used, asked.limit, GPU_LIMIT)
    found.rows.append((reader.node, one.low_percent, one.held_up_percent, one.count))
    if worker is None or not one.is_low.any():
        return
    modes, phases = mode_track(worker), phase_track(worker)
    kinds = {"host saturated": one.is_held_up, "other causes": one.is_low & ~one.is_held_up}
    for kind, marks in kinds.items():
        times_ns = host.times_ns[marks]
        found.modes.setdefault(kind, Counter()).update(modes.at(times_ns, OTHERS))
        found.phases.setdefault(kind, Counter()).update(phases.at(times_ns, Phase.BETWEEN.value))


def _table(asked: Question, found: _Found) -> Table:
    return Table(
        title="By node",
        columns=(
            Column(name="node", title="Node", is_number=False),
            Column(name="low", title="GPUs below 10%", unit="percent", tone="gpu"),
            Column(
                name="held_up", title=f"… with {asked.condition}", unit="percent", tone="warning"
            ),
            Column(name="samples", title="Samples"),
        ),
        rows=tuple(found.rows[:_SHOWN_NODES]),
        total=len(found.rows) if len(found.rows) > _SHOWN_NODES else None,
    )


def _splits(found: _Found) -> Iterator[Spec]:
    """Modes and phases of the training during samples with idle GPUs."""
    for title, counts in (
        ("Idle GPU samples by mode", found.modes),
        ("Idle GPU samples by phase", found.phases),
    ):
        names = in_order([name for one in counts.values() for name in one])
        whole = sum(sum(one.values()) for one in counts.values())
        if whole:
            yield StackedBars(
                title=title,
                labels=tuple(counts),
                parts=tuple(
                    BarSeries(
                        label=spoken(name),
                        values=tuple(100 * one[name] / whole for one in counts.values()),
                        tone=name,
                    )
                    for name in names
                ),
                unit="percent",
            )


def _gap_tables(gaps: Gaps) -> Iterator[Table]:
    """Causes of idle device time in profiled steps, and the operators that ended it."""
    places = gaps.places().documents() if gaps.rows else []
    if places:
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
                    *(one[name] for name in ("cause", "operator", "phase", "gaps", "percent")),
                    one["total_seconds"],
                )
                for one in places[:_SHOWN_PLACES]
            ),
            total=len(places),
        )


def _sentence(asked: Question, found: _Found) -> str:
    count = sum(row[3] for row in found.rows)
    low = sum(row[1] * row[3] for row in found.rows) / max(1, count)
    held_up = sum(row[2] * row[3] for row in found.rows) / max(1, count)
    if not low:
        return f"GPU utilization was never below 10% ({pluralize(count, 'sample')})."
    coinciding = format_percent(held_up, 1) if held_up else "none"
    return (
        f"GPU utilization was below 10% in {format_percent(low, 1)} of "
        f"{pluralize(count, 'sample')}; {coinciding} coincided with {asked.condition}."
    )
