"""Low use of GPUs and what the host did meanwhile, for the charts of both kinds of bottleneck."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from sonde.analyze.bottlenecks import find_bottleneck
from sonde.analyze.resources import mean_of_devices
from sonde.formats import format_percent
from sonde.read.system import SystemReader
from sonde.read.workers import WorkerReader
from sonde.records.chart import Column, Group, Part, Spec, StackedBars, Table
from sonde.records.step import Phase
from sonde.results.idle import Gaps
from sonde.results.job import JobResults
from sonde.results.machines import GPU, readers_of, samples_of
from sonde.results.phase_lookup import OTHERS, in_order, mode_track, phase_track, spoken

GPU_LIMIT = 10.0  # percent: below it a node's GPUs wait
_SHOWN_NODES = 32
_SHOWN_PLACES = 10


@dataclass
class _Found:
    """What was seen of all nodes together."""

    rows: list[tuple[str, float, float, int]] = field(default_factory=list)
    modes: dict[str, Counter[str]] = field(default_factory=dict)
    phases: dict[str, Counter[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """What of the host is compared with its GPUs."""

    title: str
    metric: str
    what: str  # in a sentence: "the CPU was above 90 %"
    limit: float


def bottleneck_chart(job: JobResults, asked: Question, node: str | None) -> Spec | None:
    """The share of low use that the host explains, by node, mode and phase."""
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
    kinds = {"host at its limit": one.is_held_up, "other reasons": one.is_low & ~one.is_held_up}
    for kind, marks in kinds.items():
        times_ns = host.times_ns[marks]
        found.modes.setdefault(kind, Counter()).update(modes.at(times_ns, OTHERS))
        found.phases.setdefault(kind, Counter()).update(phases.at(times_ns, Phase.BETWEEN.value))


def _table(asked: Question, found: _Found) -> Table:
    return Table(
        title="By node",
        columns=(
            Column(name="node", title="Node", is_number=False),
            Column(name="low", title="GPUs below 10 %", unit="percent", tone="gpu"),
            Column(name="held_up", title=f"… while {asked.what}", unit="percent", tone="warning"),
            Column(name="samples", title="Samples"),
        ),
        rows=tuple(found.rows[:_SHOWN_NODES]),
        total=len(found.rows) if len(found.rows) > _SHOWN_NODES else None,
    )


def _splits(found: _Found) -> Iterator[Spec]:
    """What training was doing at the samples at which the GPUs waited."""
    for title, counts in (
        ("What the job did meanwhile, by mode", found.modes),
        ("What the job did meanwhile, by phase", found.phases),
    ):
        names = in_order([name for one in counts.values() for name in one])
        whole = sum(sum(one.values()) for one in counts.values())
        if whole:
            yield StackedBars(
                title=title,
                labels=tuple(counts),
                parts=tuple(
                    Part(
                        label=spoken(name),
                        values=tuple(100 * one[name] / whole for one in counts.values()),
                        tone=name,
                    )
                    for name in names
                ),
                unit="percent",
            )


def _gap_tables(gaps: Gaps) -> Iterator[Table]:
    """In steps that were profiled: why devices had nothing to do, and which operator ended it."""
    places = gaps.places().documents() if gaps.rows else []
    if places:
        yield Table(
            title="What GPUs waited for in profiled steps, by operator",
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
        return f"In none of {count:,} samples the GPUs were below 10 %."
    said = f"In {format_percent(low, 1)} of {count:,} samples the GPUs were below 10 %"
    meanwhile = f"in {format_percent(held_up, 1)}" if held_up else "in none of them"
    return f"{said}; {meanwhile} {asked.what} at the same time."
