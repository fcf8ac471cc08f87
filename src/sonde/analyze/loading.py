"""The cost of a data loader, its causes, and advice."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.analyze.loader_processes import (
    WAITS_TOO_LONG_PERCENT,
    Limit,
    Loading,
    ProcessAdvice,
    advise_processes,
    typical_step,
    typical_wait,
)
from sonde.analyze.outliers import loading_outliers
from sonde.analyze.percentiles import percentiles
from sonde.formats import format_duration, format_percent, pluralize
from sonde.records.loading import (
    BatchWait,
    IteratorStart,
    LoaderRecord,
    Operation,
)

_STARTS_TOO_LONG_PERCENT = 5.0
_NAMED_PERCENT = 40.0  # minimum share of batch time of a function that is named in advice
# main methods of library classes
_MAIN_METHODS = ("__call__", "forward", "__getitem__", "__getitems__", "__next__", "transform")
_LABEL = re.compile(r"(?P<name>.*) \((?P<file>.*):(?P<line>\d+)\)")


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of the durations of an operation."""

    operation: str
    count: int
    p25: float
    p50: float
    p95: float
    maximum: float
    total: float


@dataclass(frozen=True, slots=True)
class FunctionShare:
    """A function that ran while batches were prepared."""

    name: str
    file: str
    line: int
    percent: float  # of the time, including callees
    own_percent: float

    @property
    def is_library(self) -> bool:
        """Whether it belongs to a library."""
        return self.file.startswith(("site-packages/", "python/"))


@dataclass(frozen=True, slots=True)
class Advice:
    """The topic and text of a fact or recommendation."""

    about: str
    text: str


@dataclass(frozen=True)
class LoaderReport:
    """Statistics and advice for one loader."""

    record: LoaderRecord
    operations: tuple[Distribution, ...]
    functions: tuple[FunctionShare, ...]
    slowest: FunctionShare | None  # the function to optimize
    slow_starts: tuple[IteratorStart, ...]
    slow_waits: tuple[BatchWait, ...]
    loading: Loading
    processes: ProcessAdvice | None  # None if there are no steps
    advice: tuple[Advice, ...]

    def seconds(self, operation: str) -> Distribution | None:
        """The durations of an operation; None if it was not recorded."""
        return next((item for item in self.operations if item.operation == operation), None)


def examine(record: LoaderRecord) -> LoaderReport:
    """Compute statistics and advice for one loader."""
    operations = tuple(
        distribution(name, seconds) for name, seconds in record.seconds.items() if len(seconds)
    )
    functions, slowest = functions_of(record.stacks)
    starts = [start.total_seconds for start in record.starts]
    waits = record.seconds.get(Operation.WAIT, ())
    loading = _loading(record)
    report = LoaderReport(
        record=record,
        operations=operations,
        functions=functions,
        slowest=slowest,
        slow_starts=tuple(record.starts[index] for index in loading_outliers(starts)),
        slow_waits=tuple(
            BatchWait(
                record.wait_times_ns[index],
                record.wait_steps[index],
                waits[index],
            )
            for index in loading_outliers(waits)
        ),
        loading=loading,
        processes=advise_processes(loading),
        advice=(),
    )
    return LoaderReport(**{**vars(report), "advice": tuple(_advice(report))})


def distribution(operation: str, seconds: Sequence[float]) -> Distribution:
    """Quartile, median, 95th percentile and maximum of durations."""
    values = np.asarray(seconds, dtype=np.float64)
    p25, p50, p95, maximum = percentiles(values[None], (25, 50, 95, 100))[0].tolist()
    return Distribution(operation, len(values), p25, p50, p95, maximum, float(values.sum()))


def functions_of(
    stacks: Sequence[tuple[tuple[str, ...], float]],
) -> tuple[tuple[FunctionShare, ...], FunctionShare | None]:
    """Return functions by total time, and the function to optimize.

    The latter is the innermost function on the heaviest call path that the script defines, or
    the main method of a library class.
    """
    total = sum(seconds for _, seconds in stacks)
    if not total:
        return (), None
    total_seconds: dict[str, float] = {}
    own_seconds: dict[str, float] = {}
    for stack, seconds in stacks:
        for label in dict.fromkeys(stack):
            total_seconds[label] = total_seconds.get(label, 0.0) + seconds
        own_seconds[stack[-1]] = own_seconds.get(stack[-1], 0.0) + seconds
    shares = {
        label: _share(label, 100 * seconds / total, 100 * own_seconds.get(label, 0.0) / total)
        for label, seconds in total_seconds.items()
    }
    ordered = sorted(shares.values(), key=lambda share: (-share.percent, share.name))
    path = [shares[label] for label in _heaviest_path(stacks, total * _NAMED_PERCENT / 100)]
    candidates = [
        share for share in path if not share.is_library or share.name.endswith(_MAIN_METHODS)
    ]
    return tuple(ordered), candidates[-1] if candidates else None


def _heaviest_path(
    stacks: Sequence[tuple[tuple[str, ...], float]], min_seconds: float
) -> list[str]:
    """Return the labels from the root along the heaviest children above a minimum time."""
    path: list[str] = []
    selected = [(stack, seconds) for stack, seconds in stacks if stack]
    while True:
        depth = len(path)
        children: dict[str, float] = {}
        selected = [item for item in selected if len(item[0]) > depth]
        for stack, seconds in selected:
            children[stack[depth]] = children.get(stack[depth], 0.0) + seconds
        heaviest = max(children, key=lambda label: children[label], default="")
        if not heaviest or children[heaviest] < min_seconds:
            return path
        path.append(heaviest)
        selected = [item for item in selected if item[0][depth] == heaviest]


def _share(label: str, percent: float, own_percent: float) -> FunctionShare:
    match = _LABEL.fullmatch(label)
    if match is None:
        return FunctionShare(label, "", 0, percent, own_percent)
    return FunctionShare(match["name"], match["file"], int(match["line"]), percent, own_percent)


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(np.asarray(values))) if len(values) else None


def _loading(record: LoaderRecord) -> Loading:
    batch = _median(record.seconds.get(Operation.BATCH, ()))
    return Loading(
        record.facts,
        typical_wait(record.step_waits),
        typical_step(record.step_seconds),
        record.host,
        None if batch is None else batch * record.batches_per_step,
        record.cpu_percent,
    )


def _advice(report: LoaderReport) -> list[Advice]:
    record = report.record
    result = [*_on_waiting(report), *_on_processes(report)]
    result += [*_on_starts(report), *_on_pinning(record)]
    if report.slow_waits:
        worst = max(report.slow_waits, key=lambda slow_wait: slow_wait.seconds)
        text = (
            f"{pluralize(len(report.slow_waits), 'batch', 'batches')} took unusually long, up to "
            f"{format_duration(worst.seconds)} at {record.mode} step {worst.step}. "
            "Look for items that take much longer than others, and for a slow disk or network."
        )
        result.append(Advice("outliers", text))
    return result or _on_healthy(record)


def _on_healthy(record: LoaderRecord) -> list[Advice]:
    if record.waited_percent is None:
        return []
    is_little = record.waited_percent < WAITS_TOO_LONG_PERCENT
    exception = "" if is_little else ", except for single long waits"
    share = format_percent(record.waited_percent)
    waits = f"{record.mode} steps spend {share} of their time waiting for data"
    return [Advice("healthy", f"Data loading keeps up{exception}: {waits}.")]


def _on_waiting(report: LoaderReport) -> list[Advice]:
    record = report.record
    if record.waited_percent is None or report.loading.keeps_up:
        return []
    share = format_percent(record.waited_percent)
    text = f"{record.mode.capitalize()} steps spend {share} of their time waiting for data."
    result = [Advice("waiting", text)]
    if not record.seconds.get(Operation.BATCH):
        text = "To see where the loading time goes, run: sonde profile JOB --kinds dataloader"
        result.append(Advice("window", text))
    return result


def _on_processes(report: LoaderReport) -> list[Advice]:
    """Return advice on the number of loader processes, unless the number is fine."""
    advice, current = report.processes, report.record.facts.processes
    if advice is None:
        return []
    if advice.advised != current or advice.limit is not Limit.NOTHING:
        is_slow = advice.needed > current
        return [*(_on_function(report) if is_slow else ()), Advice("processes", advice.text)]
    return [] if report.loading.keeps_up else [Advice("handing over", advice.text)]


def _on_function(report: LoaderReport) -> list[Advice]:
    slowest = report.slowest
    if slowest is None:
        return []
    where = f" ({slowest.file}:{slowest.line})" if slowest.file else ""
    share = format_percent(slowest.percent)
    text = f"{share} of the time per batch is spent in {slowest.name}{where}."
    if report.loading.is_waiting:
        text += " Most of that is waiting, for example for a disk or a network."
    return [Advice("function", text)]


def _on_starts(report: LoaderReport) -> list[Advice]:
    record = report.record
    result = []
    typical = _median(record.seconds.get(Operation.WAIT, ())) or 0.0
    spent = sum(max(0.0, start.total_seconds - typical) for start in record.starts)
    trained = sum(record.step_seconds)
    is_much = trained and 100 * spent / (trained + spent) >= _STARTS_TOO_LONG_PERCENT
    if is_much and len(record.starts) > 1 and record.facts.processes:
        each = format_duration(_median([start.total_seconds for start in record.starts]) or 0.0)
        text = f"{len(record.starts)} iterators were started, with a median start time of {each}."
        if not record.facts.keeps_processes:
            text += " With persistent_workers=True, loader processes start only once."
        result.append(Advice("starts", text))
    if report.slow_starts:
        worst = max(report.slow_starts, key=lambda slow_start: slow_start.total_seconds)
        count = pluralize(len(report.slow_starts), "iterator start")
        text = f"{count} took unusually long, up to {format_duration(worst.total_seconds)}."
        result.append(Advice("slow starts", text))
    return result


def _on_pinning(record: LoaderRecord) -> list[Advice]:
    if record.facts.is_pinning or not record.device.startswith("cuda"):
        return []
    text = (
        "Batches are copied to the GPU from unpinned memory. pin_memory=True makes copies faster; "
        "with non_blocking=True, they also overlap with computation."
    )
    return [Advice("pinning", text)]
