"""Read the collectors periodically, and keep their cost within the budget."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from sonde.agent.system import COLLECTORS, UNKNOWN, Collector, Machine
from sonde.clock import Clock, process_cpu_seconds
from sonde.errors import NothingToCollectError
from sonde.formats import format_duration, format_percent
from sonde.guard import Guard, error_text
from sonde.records.metric import MetricInfo, Series
from sonde.records.notice import NoticeKind
from sonde.settings import MAX_INTERVAL_SECONDS
from sonde.store.writer import Writer

_COST_SECONDS = 10.0  # how often the cost is recorded and compared with the budget
_MAX_OVER_BUDGET = 3  # consecutive measurements above the budget before the interval changes

_CPU = MetricInfo(
    "sonde.cpu_percent", "percent", "CPU time of the launcher, as a percentage of one core"
)
_WRITTEN = MetricInfo("sonde.written_bytes", "bytes", "data written by this node")
_DURATION = MetricInfo("sonde.collector_seconds", "seconds", "duration of a collector's read")


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a collector is not used: it failed to open, or its device is not on this machine."""

    reason: str
    is_failure: bool = False


@dataclass(slots=True)
class _Slot:
    """A collector with its schedule and last values."""

    name: str
    collector: Collector
    due: float = float("-inf")
    duration: float = UNKNOWN
    latest: Sequence[float] | None = None
    wake: threading.Event = field(default_factory=threading.Event)
    series: tuple[Series, ...] = ()
    unknown: Sequence[float] = ()  # values of a tick without a reading


def open_collectors(
    machine: Machine, names: Sequence[str] | None = None, *, samples_machine: bool = True
) -> tuple[dict[str, Collector], dict[str, Absence]]:
    """Open the collectors that work on this machine; return why the others do not.

    Args:
        machine: The machine and the job.
        names: The collectors; all by default.
        samples_machine: Whether to open more than the collectors of the job's processes.
    """
    collectors: dict[str, Collector] = {}
    missing: dict[str, Absence] = {}
    guard = Guard()
    for name in COLLECTORS.names() if names is None else names:
        default: Collector | Absence = Absence("", is_failure=True)
        opened = guard.call(
            name, partial(_open, name, machine, samples_machine=samples_machine), default
        )
        if isinstance(opened, Collector):
            collectors[name] = opened
        elif opened.is_failure:
            missing[name] = Absence(f"failed: {guard.failed[name]}", is_failure=True)
        else:
            missing[name] = opened
    return collectors, missing


def _open(name: str, machine: Machine, *, samples_machine: bool) -> Collector | Absence:
    """Open a collector, or return what is missing on this machine."""
    kind = COLLECTORS.load(name)
    if not (samples_machine or kind.is_of_processes):
        return Absence("recorded by another launcher on this machine")
    collector = kind(machine)
    try:
        collector.open()
    except NothingToCollectError as error:
        return Absence(str(error) or "not available on this machine")
    return collector


class Sampler:
    """One thread for sampling, and one for each collector that may block."""

    def __init__(
        self,
        collectors: dict[str, Collector],
        writer: Writer,
        clock: Clock,
        interval_seconds: float,
        budget_percent: float = 1.0,
        cpu_seconds: Callable[[], float] = process_cpu_seconds,
    ) -> None:
        self.interval_seconds = interval_seconds
        self.is_monitoring = True
        self._budget_percent = budget_percent
        self._cpu_seconds = cpu_seconds
        self._slots = [_Slot(name, collector) for name, collector in collectors.items()]
        self._writer = writer
        self._clock = clock
        self._guard = Guard(self._on_failure)
        self._series: tuple[Series, ...] = ()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._last_cost: tuple[float, float] | None = None
        self._over_budget_count = 0
        self._flushed = clock.seconds()

    def start(self, flush_seconds: float) -> None:
        """Start sampling in the background."""
        targets = [threading.Thread(target=self._run, args=(flush_seconds,), name="sonde-sampler")]
        targets += [
            threading.Thread(target=self._run_slow, args=(slot,), name=f"sonde-{slot.name}")
            for slot in self._slots
            if slot.collector.is_slow
        ]
        for thread in targets:
            thread.daemon = True
            thread.start()
            self._threads.append(thread)

    def stop(self, timeout_seconds: float) -> None:
        """Stop sampling, take a last sample and close the collectors.

        If a collector hangs until the timeout, the last sample is skipped.
        """
        deadline = self._clock.seconds() + timeout_seconds
        self._stop.set()
        self._wake_all()
        for thread in self._threads:
            thread.join(max(0.0, deadline - self._clock.seconds()))
        if any(thread.is_alive() for thread in self._threads):
            return
        if self.is_monitoring:
            self.tick()
        for slot in self._slots:
            self._guard.call(slot.name, slot.collector.close, None)

    def set_interval(self, seconds: float) -> None:
        """Change the sampling interval."""
        self.interval_seconds = seconds
        self._wake_all()

    def _wake_all(self) -> None:
        self._wake.set()
        for slot in self._slots:
            slot.wake.set()

    def tick(self) -> None:
        """Read and record the collectors that are due."""
        now = self._clock.seconds()
        values: list[float] = []
        for slot in self._slots:
            values += self._values(slot, now)
        values += self._cost_values(now)
        self._writer.add_sample(self._clock.now_ns(), self._current_series(), values)

    def _run(self, flush_seconds: float) -> None:
        due = self._clock.seconds()
        while not self._stop.is_set():
            self._guard.attempt("tick", self._tick_if_on, None)
            if self._clock.seconds() - self._flushed >= flush_seconds:
                self._flushed = self._clock.seconds()
                self._guard.attempt("flush", self._writer.flush, None)
            # ticks missed while the job was suspended or the machine busy are skipped
            due = max(due + self.interval_seconds, self._clock.seconds())
            if self._clock.wait(self._wake, due - self._clock.seconds()):
                self._wake.clear()
                due = self._clock.seconds()

    def _tick_if_on(self) -> None:
        if self.is_monitoring:
            self.tick()

    def _run_slow(self, slot: _Slot) -> None:
        while not self._stop.is_set():
            if self.is_monitoring:
                slot.latest = self._read(slot, self._clock.seconds())
            pause = max(slot.collector.interval_seconds, self.interval_seconds)
            if self._clock.wait(slot.wake, pause):
                slot.wake.clear()

    def _values(self, slot: _Slot, now: float) -> Sequence[float]:
        if slot.collector.is_slow:
            latest, slot.latest = slot.latest, None
        elif now >= slot.due and slot.name not in self._guard.failed:
            latest = self._read(slot, now)
            # half a tick of tolerance, so that an interval of two ticks is not read every third
            slot.due = now + slot.collector.interval_seconds - self.interval_seconds / 2
        else:
            latest = None
        series = slot.collector.series
        if series is not slot.series:
            slot.series = series
            slot.unknown = [UNKNOWN] * len(series)
            self._series = ()
        return latest if latest is not None and len(latest) == len(series) else slot.unknown

    def _read(self, slot: _Slot, now: float) -> Sequence[float] | None:
        started = self._clock.seconds()
        values: Sequence[float] | None = self._guard.call(
            slot.name, lambda: slot.collector.read(now), None
        )
        slot.duration = self._clock.seconds() - started
        return values

    def _current_series(self) -> tuple[Series, ...]:
        """Return all series; the same tuple until a collector changes its series."""
        if not self._series:
            self._series = (
                *(series for slot in self._slots for series in slot.series),
                *(Series(metric) for metric in (_CPU, _WRITTEN)),
                *(Series(_DURATION, slot.name) for slot in self._slots),
            )
        return self._series

    def _cost_values(self, now: float) -> list[float]:
        then, before = self._last_cost or (now, self._cpu_seconds())
        if now - then < _COST_SECONDS:
            self._last_cost = (then, before)
            return [UNKNOWN] * (2 + len(self._slots))
        cpu = self._cpu_seconds()
        self._last_cost = (now, cpu)
        percent = 100 * (cpu - before) / (now - then)
        self._keep_budget(percent)
        written = float(self._writer.outbox.bytes_written)
        return [percent, written, *(slot.duration for slot in self._slots)]

    def _keep_budget(self, percent: float) -> None:
        self._over_budget_count = (
            self._over_budget_count + 1 if percent > self._budget_percent else 0
        )
        if (
            self._over_budget_count < _MAX_OVER_BUDGET
            or self.interval_seconds >= MAX_INTERVAL_SECONDS
        ):
            return
        self._over_budget_count = 0
        self.interval_seconds = min(2 * self.interval_seconds, MAX_INTERVAL_SECONDS)
        interval = format_duration(self.interval_seconds)
        used, budget = format_percent(percent), format_percent(self._budget_percent)
        self._writer.notice(
            NoticeKind.CHANGED,
            "sampling interval",
            f"increased to {interval}: sampling used {used} of one core (budget: {budget})",
        )

    def _on_failure(self, name: str, error: BaseException) -> None:
        reason = error_text(error)
        self._writer.notice(NoticeKind.SWITCHED_OFF, f"collector {name}", reason)
