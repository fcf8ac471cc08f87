"""What a data loader costs, why, and what to do about it.

Pure arithmetic on what was recorded of one loader; the advice is made of the same numbers.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from sonde.analyze.percentiles import percentiles
from sonde.records.loading import (
    BatchWait,
    IteratorStart,
    LoaderFacts,
    LoaderRecord,
    Operation,
)

_DEVIATIONS = 5.0  # robust ones; noise of a healthy loader stays below
_MAD_TO_DEVIATION = 1.4826
_TIMES_USUAL = 2.0  # what is not twice as long is no outlier, however steady the others are
_MANY = 20
_LEAST_SECONDS = 0.005
_LEAST_COUNT = 4  # of which one can be unusual
_WAITS_TOO_LONG_PERCENT = 10.0
_STARTS_TOO_LONG_PERCENT = 5.0
_NAMED_PERCENT = 40.0  # of a batch's time: a function that takes as much is named
_COMPUTES_PERCENT = 50.0  # CPU time of the time that a batch takes to make
_WAITING_PER_CORE = 4
_RESERVE = 1.1  # loader processes beyond what would just do
# methods that do the work of a library's classes
_WORKS = ("__call__", "forward", "__getitem__", "__getitems__", "__next__", "transform")
_LABEL = re.compile(r"(?P<name>.*) \((?P<file>.*):(?P<line>\d+)\)")


@dataclass(frozen=True, slots=True)
class Distribution:
    """How long something took."""

    operation: str
    count: int
    p25: float
    p50: float
    p95: float
    maximum: float
    total: float


@dataclass(frozen=True, slots=True)
class FunctionShare:
    """A function that ran while batches were made."""

    name: str
    file: str
    line: int
    percent: float  # of the time, with what it calls
    own_percent: float

    @property
    def is_library(self) -> bool:
        """Whether the script only uses it."""
        return self.file.startswith(("site-packages/", "python/"))


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to know or to do: about what, and in words."""

    about: str
    text: str


@dataclass(frozen=True)
class LoaderReport:
    """What can be said of one loader."""

    record: LoaderRecord
    operations: tuple[Distribution, ...]
    functions: tuple[FunctionShare, ...]
    slowest: FunctionShare | None  # the one that most of a batch's time is spent in
    slow_starts: tuple[IteratorStart, ...]
    slow_waits: tuple[BatchWait, ...]
    processes_needed: int | None  # None: not known, or any number would do
    advice: tuple[Advice, ...]

    def seconds(self, operation: str) -> Distribution | None:
        """How long an operation took; None where it was not seen."""
        return next((one for one in self.operations if one.operation == operation), None)


def examine(record: LoaderRecord) -> LoaderReport:
    """Everything that can be said of one loader."""
    operations = tuple(
        distribution(name, seconds) for name, seconds in record.seconds.items() if len(seconds)
    )
    functions, slowest = functions_of(record.stacks)
    starts = [one.total_seconds for one in record.starts]
    waits = record.seconds.get(Operation.WAIT, ())
    report = LoaderReport(
        record=record,
        operations=operations,
        functions=functions,
        slowest=slowest,
        slow_starts=tuple(record.starts[place] for place in outliers(starts)),
        slow_waits=tuple(
            BatchWait(record.wait_times_ns[place], record.wait_steps[place], waits[place])
            for place in outliers(waits)
        ),
        processes_needed=_needed(record),
        advice=(),
    )
    return LoaderReport(**{**vars(report), "advice": tuple(_advice(report))})


def distribution(operation: str, seconds: Sequence[float]) -> Distribution:
    """Quartile, median, 95th percentile and maximum of some durations."""
    values = np.asarray(seconds, dtype=np.float64)
    p25, p50, p95, maximum = percentiles(values[None], (25, 50, 95, 100))[0].tolist()
    return Distribution(operation, len(values), p25, p50, p95, maximum, float(values.sum()))


def outliers(seconds: Sequence[float]) -> list[int]:
    """The places of durations that are out of line, by the spread of the middle ones."""
    values = np.asarray(seconds, dtype=np.float64)
    if len(values) < _LEAST_COUNT:
        return []
    usual = float(np.median(values))
    spread = float(np.median(np.abs(values - usual))) * _MAD_TO_DEVIATION
    # what happens often is not out of line: with two processes every second wait may be long
    often = float(np.quantile(values, 0.9 if len(values) >= _MANY else 0.75))
    limit = max(usual + _DEVIATIONS * spread, often * _TIMES_USUAL, usual + _LEAST_SECONDS)
    return np.flatnonzero(values > limit).tolist()


def functions_of(
    stacks: Sequence[tuple[tuple[str, ...], float]],
) -> tuple[tuple[FunctionShare, ...], FunctionShare | None]:
    """Functions by the time that they and what they call took; and the one to look at.

    That one is found from the outside in: as long as one function holds most of the time, we look
    inside it, and of those the innermost counts that a person has written or has chosen.
    """
    whole = sum(seconds for _, seconds in stacks)
    if not whole:
        return (), None
    total: dict[str, float] = {}
    own: dict[str, float] = {}
    for stack, seconds in stacks:
        for label in dict.fromkeys(stack):
            total[label] = total.get(label, 0.0) + seconds
        own[stack[-1]] = own.get(stack[-1], 0.0) + seconds
    shares = {
        label: _share(label, 100 * seconds / whole, 100 * own.get(label, 0.0) / whole)
        for label, seconds in total.items()
    }
    ordered = sorted(shares.values(), key=lambda one: (-one.percent, one.name))
    chosen = [shares[label] for label in _heaviest_path(stacks, whole * _NAMED_PERCENT / 100)]
    chosen = [one for one in chosen if not one.is_library or one.name.endswith(_WORKS)]
    return tuple(ordered), chosen[-1] if chosen else None


def _heaviest_path(
    stacks: Sequence[tuple[tuple[str, ...], float]], least_seconds: float
) -> list[str]:
    path: list[str] = []
    inside = [(stack, seconds) for stack, seconds in stacks if stack]
    while True:
        depth = len(path)
        children: dict[str, float] = {}
        inside = [one for one in inside if len(one[0]) > depth]
        for stack, seconds in inside:
            children[stack[depth]] = children.get(stack[depth], 0.0) + seconds
        heaviest = max(children, key=lambda label: children[label], default="")
        if not heaviest or children[heaviest] < least_seconds:
            return path
        path.append(heaviest)
        inside = [one for one in inside if one[0][depth] == heaviest]


def _share(label: str, percent: float, own_percent: float) -> FunctionShare:
    found = _LABEL.fullmatch(label)
    if found is None:
        return FunctionShare(label, "", 0, percent, own_percent)
    return FunctionShare(found["name"], found["file"], int(found["line"]), percent, own_percent)


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(np.asarray(values))) if len(values) else None


def _making(record: LoaderRecord) -> float | None:
    """How long a batch takes to make, usually."""
    is_alone = not record.facts.processes  # then who waits for it makes it
    known = record.seconds.get(Operation.WAIT if is_alone else Operation.BATCH, ())
    return _median(known or record.seconds.get(Operation.BATCH, ()))


def _needed(record: LoaderRecord) -> int | None:
    """Loader processes that would make a batch in the time of a step."""
    batch, step = _making(record), _median(record.step_seconds)
    return processes_needed(batch, step) if batch is not None and step else None


def processes_needed(batch: float, step: float) -> int:
    """Loader processes that make batches as quickly as steps use them, with some to spare.

    Args:
        batch: Seconds that one process takes to make a batch.
        step: Seconds of a step without waiting.
    """
    return max(1, ceil(_RESERVE * batch / step))


def making_seconds(facts: LoaderFacts, wait: float, step: float) -> float:
    """How long a batch takes to make, as far as waits for them tell.

    Args:
        facts: What the loader is like.
        wait: Seconds of waiting in a step.
        step: Seconds of a step without waiting; loader processes work on meanwhile.
    """
    return (wait + (step if facts.processes else 0.0)) * max(1, facts.processes)


def advice_on_processes(
    facts: LoaderFacts, batch: float, step: float, *, is_idle: bool = False
) -> str:
    """How many loader processes would do where steps wait for data.

    Args:
        facts: What the loader is like; of its cores, those that are one worker's.
        batch: Seconds that one process takes to make a batch.
        step: Seconds of a step without waiting.
        is_idle: Whether who makes batches mostly waits: that needs no core, but memory.
    """
    needed = processes_needed(batch, step)
    if facts.processes >= needed:
        return (
            f"Its {_processes(facts.processes)} make batches quickly enough: the time goes "
            "into handing them over, or others keep the cores busy. Larger batches of fewer and "
            "simpler pieces cost less to hand over."
        )
    now = {0: "the training makes them itself", 1: "one process makes them"}.get(
        facts.processes, f"{facts.processes} make them"
    )
    each = f"A batch takes {_time(batch)} to make, a step without waiting {_time(step)}; {now}."
    most = min(needed, facts.cores * (_WAITING_PER_CORE if is_idle else 1))
    if most > facts.processes:
        enough = "would keep up" if most == needed else "would come nearer; make them cheaper, too"
        return f"{each} {_processes(most).capitalize()} (num_workers={most}) {enough}."
    return (
        f"{each} {_processes(needed).capitalize()} would keep up, but there are only "
        f"{_cores(facts.cores)}: make batches cheaper, or prepare them before the training."
    )


def advice_on_too_many(processes: int, cores: int) -> str:
    """What to do where loader processes get in each other's way."""
    return (
        f"{_processes(processes).capitalize()} share {_cores(cores)}: fewer would do "
        f"(num_workers={max(1, cores)})."
    )


def _advice(report: LoaderReport) -> list[Advice]:
    record, facts = report.record, report.record.facts
    found = [*_on_waiting(report), *_on_starts(report), *_on_pinning(record)]
    if facts.processes > facts.cores and not _is_idle(record):
        found.append(Advice("processes", advice_on_too_many(facts.processes, facts.cores)))
    if report.slow_waits:
        worst = max(report.slow_waits, key=lambda one: one.seconds)
        text = (
            f"{_times(len(report.slow_waits))} a batch came out of line, the slowest one, at "
            f"{record.mode} step {worst.step}, after {_time(worst.seconds)}: "
            "look for items that take much longer than others, and for a slow disk or network."
        )
        found.append(Advice("outliers", text))
    if not found and record.waited_percent is not None:
        share = f"{record.waited_percent:.1f} %"
        text = f"Loading keeps up: {record.mode} steps wait {share} of their time for data."
        found.append(Advice("healthy", text))
    return found


def _is_idle(record: LoaderRecord) -> bool:
    """Whether whoever makes batches mostly waits itself, for a disk or a network."""
    return record.cpu_percent is not None and record.cpu_percent < _COMPUTES_PERCENT


def _on_waiting(report: LoaderReport) -> list[Advice]:
    record = report.record
    if record.waited_percent is None or record.waited_percent < _WAITS_TOO_LONG_PERCENT:
        return []
    share = f"{record.waited_percent:.0f} %"
    text = f"{record.mode.capitalize()} steps wait {share} of their time for data."
    found = [Advice("waiting", text)]
    needed = report.processes_needed
    if not record.seconds.get(Operation.BATCH):
        text = "Nobody has looked inside of a batch yet: sonde profile JOB --kinds dataloader"
        found.append(Advice("window", text))
    if needed is None:
        return found
    batch, step = _making(record) or 0.0, _median(record.step_seconds) or 0.0
    text = advice_on_processes(record.facts, batch, step, is_idle=_is_idle(record))
    if record.facts.processes >= needed:
        return [*found, Advice("handing over", text)]
    return [*found, *_on_function(report), Advice("processes", text)]


def _on_function(report: LoaderReport) -> list[Advice]:
    slowest = report.slowest
    if slowest is None:
        return []
    where = f" ({slowest.file}:{slowest.line})" if slowest.file else ""
    text = f"{slowest.percent:.0f} % of a batch's time is spent in {slowest.name}{where}."
    if _is_idle(report.record):
        text += " Most of that is not computing but waiting, as for a disk or a network."
    return [Advice("function", text)]


def _on_starts(report: LoaderReport) -> list[Advice]:
    record = report.record
    found = []
    usual = _median(record.seconds.get(Operation.WAIT, ())) or 0.0
    spent = sum(max(0.0, one.total_seconds - usual) for one in record.starts)
    trained = sum(record.step_seconds)
    is_much = trained and 100 * spent / (trained + spent) >= _STARTS_TOO_LONG_PERCENT
    if is_much and len(record.starts) > 1 and record.facts.processes:
        each = _time(_median([one.total_seconds for one in record.starts]) or 0.0)
        text = f"{len(record.starts)} iterators have started, and each takes {each} to get going."
        if not record.facts.keeps_processes:
            text += " With persistent_workers=True their processes are started only once."
        found.append(Advice("starts", text))
    if report.slow_starts:
        worst = max(report.slow_starts, key=lambda one: one.total_seconds)
        text = (
            f"{_times(len(report.slow_starts))} an iterator started out of line, "
            f"the slowest one in {_time(worst.total_seconds)}."
        )
        found.append(Advice("slow starts", text))
    return found


def _on_pinning(record: LoaderRecord) -> list[Advice]:
    if record.facts.is_pinning or not record.device.startswith("cuda"):
        return []
    text = (
        "Batches go to the GPU from memory that is not pinned: pin_memory=True makes copies "
        "faster, and with non_blocking=True they run while the GPU computes."
    )
    return [Advice("pinning", text)]


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def _cores(count: int) -> str:
    return "one core" if count == 1 else f"{count} cores"


def _processes(count: int) -> str:
    return "one loader process" if count == 1 else f"{count} loader processes"


def _times(count: int) -> str:
    return "Once" if count == 1 else f"{count} times"
