"""Ticks the collectors, measures what they cost, and keeps within the budget."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from sonde.agent.system import COLLECTORS, UNKNOWN, Collector, Machine
from sonde.clock import Clock, process_cpu_seconds
from sonde.errors import NothingToCollectError
from sonde.guard import Guard, error_text
from sonde.records.metric import MetricInfo, Series
from sonde.records.notice import NoticeKind
from sonde.settings import LONGEST_INTERVAL_SECONDS
from sonde.store.writer import Writer

_SELF_SECONDS = 10.0  # how often our own cost is recorded and held against the budget
_PATIENCE = 3  # so many times over budget in a row before the pace changes

_CPU = MetricInfo("sonde.cpu_percent", "percent", "CPU time of the launcher, of one core")
_WRITTEN = MetricInfo("sonde.written_bytes", "bytes", "what this node has written so far")
_DURATION = MetricInfo("sonde.collector_seconds", "seconds", "how long a collector's read takes")


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a collector is not used: it failed to open, or its device is not on this machine."""

    reason: str
    is_failure: bool = False


@dataclass(slots=True)
class _Slot:
    """A collector, when it is due, and what its last read gave."""

    name: str
    collector: Collector
    due: float = float("-inf")
    duration: float = UNKNOWN
    fresh: Sequence[float] | None = None
    wake: threading.Event = field(default_factory=threading.Event)
    series: tuple[Series, ...] = ()
    unknown: Sequence[float] = ()  # what stands for a tick without a reading


def open_collectors(
    machine: Machine, names: Sequence[str] | None = None
) -> tuple[dict[str, Collector], dict[str, Absence]]:
    """Open all collectors that work on this machine, and say why the others do not."""
    found: dict[str, Collector] = {}
    missing: dict[str, Absence] = {}
    guard = Guard()
    for name in COLLECTORS.names() if names is None else names:
        default: Collector | Absence = Absence("", is_failure=True)
        opened = guard.call(name, partial(_opened, name, machine), default)
        if isinstance(opened, Collector):
            found[name] = opened
        elif opened.is_failure:
            missing[name] = Absence(f"it failed: {guard.failed[name]}", is_failure=True)
        else:
            missing[name] = opened
    return found, missing


def _opened(name: str, machine: Machine) -> Collector | Absence:
    """Open a collector, or say what it misses on this machine."""
    collector = COLLECTORS.load(name)(machine)
    try:
        collector.open()
    except NothingToCollectError as error:
        return Absence(str(error) or "not available on this machine")
    return collector


class Sampler:
    """One thread for the ticks, and one more for each collector that may block."""

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
        self._self_checked: tuple[float, float] | None = None
        self._times_over = 0
        self._flushed = clock.seconds()

    def start(self, flush_seconds: float) -> None:
        """Begins to tick in the background."""
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
        """Ends the ticks, takes a last one and closes the collectors.

        A collector that hangs is left alone after the time-out, and so is the last tick.
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
        """Changes the pace from now on."""
        self.interval_seconds = seconds
        self._wake_all()

    def _wake_all(self) -> None:
        self._wake.set()
        for slot in self._slots:
            slot.wake.set()

    def tick(self) -> None:
        """Reads what is due and records it."""
        now = self._clock.seconds()
        values: list[float] = []
        for slot in self._slots:
            values += self._values(slot, now)
        values += self._own_cost(now)
        self._writer.add_sample(self._clock.now_ns(), self._current_series(), values)

    def _run(self, flush_seconds: float) -> None:
        due = self._clock.seconds()
        while not self._stop.is_set():
            self._guard.attempt("a tick", self._beat, None)
            if self._clock.seconds() - self._flushed >= flush_seconds:
                self._flushed = self._clock.seconds()
                self._guard.attempt("a flush", self._writer.flush, None)
            # ticks that were missed (a suspended job, a busy machine) are not made up for
            due = max(due + self.interval_seconds, self._clock.seconds())
            if self._clock.wait(self._wake, due - self._clock.seconds()):
                self._wake.clear()
                due = self._clock.seconds()

    def _beat(self) -> None:
        if self.is_monitoring:
            self.tick()

    def _run_slow(self, slot: _Slot) -> None:
        while not self._stop.is_set():
            if self.is_monitoring:
                slot.fresh = self._read(slot, self._clock.seconds())
            pause = max(slot.collector.interval_seconds, self.interval_seconds)
            if self._clock.wait(slot.wake, pause):
                slot.wake.clear()

    def _values(self, slot: _Slot, now: float) -> Sequence[float]:
        if slot.collector.is_slow:
            fresh, slot.fresh = slot.fresh, None
        elif now >= slot.due and slot.name not in self._guard.failed:
            fresh = self._read(slot, now)
            # half a tick of slack, so that an interval of two ticks is not read every third
            slot.due = now + slot.collector.interval_seconds - self.interval_seconds / 2
        else:
            fresh = None
        series = slot.collector.series
        if series is not slot.series:
            slot.series = series
            slot.unknown = [UNKNOWN] * len(series)
            self._series = ()
        return fresh if fresh is not None and len(fresh) == len(series) else slot.unknown

    def _read(self, slot: _Slot, now: float) -> Sequence[float] | None:
        started = self._clock.seconds()
        values: Sequence[float] | None = self._guard.call(
            slot.name, lambda: slot.collector.read(now), None
        )
        slot.duration = self._clock.seconds() - started
        return values

    def _current_series(self) -> tuple[Series, ...]:
        """One tuple for as long as no collector has changed what it reads."""
        if not self._series:
            self._series = (
                *(one for slot in self._slots for one in slot.series),
                *(Series(metric) for metric in (_CPU, _WRITTEN)),
                *(Series(_DURATION, slot.name) for slot in self._slots),
            )
        return self._series

    def _own_cost(self, now: float) -> list[float]:
        then, before = self._self_checked or (now, self._cpu_seconds())
        if now - then < _SELF_SECONDS:
            self._self_checked = (then, before)
            return [UNKNOWN] * (2 + len(self._slots))
        cpu = self._cpu_seconds()
        self._self_checked = (now, cpu)
        percent = 100 * (cpu - before) / (now - then)
        self._keep_budget(percent)
        written = float(self._writer.outbox.bytes_written)
        return [percent, written, *(slot.duration for slot in self._slots)]

    def _keep_budget(self, percent: float) -> None:
        self._times_over = self._times_over + 1 if percent > self._budget_percent else 0
        if self._times_over < _PATIENCE or self.interval_seconds >= LONGEST_INTERVAL_SECONDS:
            return
        self._times_over = 0
        self.interval_seconds = min(2 * self.interval_seconds, LONGEST_INTERVAL_SECONDS)
        self._writer.notice(
            NoticeKind.CHANGED,
            "sampling interval",
            f"sampling took {percent:.2f} % of a core and may take {self._budget_percent:g} %: "
            f"now every {self.interval_seconds:g} s",
        )

    def _on_failure(self, part: str, error: BaseException) -> None:
        reason = error_text(error)
        self._writer.notice(NoticeKind.SWITCHED_OFF, f"collector {part}", reason)
