"""What becomes of tensors that were taken: statistics, full values, and the odd product."""

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from sonde.clock import thread_cpu_seconds
from sonde.hook.budget import Measurement
from sonde.hook.session import Session
from sonde.hook.torch.tensors.device_timing import Timed, launch_timed
from sonde.hook.torch.tensors.full_values import Values
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.snapshots import Buffers, Copies, copies
from sonde.hook.torch.tensors.statistics import Measured, measure, plain
from sonde.records.notice import NoticeKind
from sonde.store.format import STATISTICS

At = tuple[str, int]
Listener = Callable[[Measured, At], None]


@dataclass(slots=True)
class Taken:
    """Tensors of one step, by what is wanted of them."""

    at: At
    time_ns: int
    plain: dict[str, Tensor] = field(default_factory=dict)
    with_histogram: dict[str, Tensor] = field(default_factory=dict)
    values: dict[str, Tensor] = field(default_factory=dict)
    reductions: list[tuple[str, str]] = field(default_factory=list)
    on_measured: Listener | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.plain or self.with_histogram)

    def everything(self) -> dict[str, Tensor]:
        """All tensors, each once."""
        return {**self.plain, **self.with_histogram}

    def of(self, copied: Mapping[str, Tensor]) -> "Taken":
        """The same with other tensors of these names."""
        return Taken(
            self.at,
            self.time_ns,
            {name: copied[name] for name in self.plain},
            {name: copied[name] for name in self.with_histogram},
            {name: copied[name] for name in self.values},
            self.reductions,
            self.on_measured,
        )


class Records:
    """Turns taken tensors into records, in the backroom."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._values = Values(session)
        self._buffers = Buffers()
        self._log = _StatisticsLog()
        session.listeners.on_begin(self._start_anew)
        session.listeners.before_flush(self._flush)

    def _start_anew(self) -> None:
        self._log = _StatisticsLog()

    def keep(self, taken: Taken, routine: Measurement | None) -> bool:
        """Copies what training is about to change, and leaves the rest to the backroom.

        Returns:
            Whether its price is known when this returns; a device tells it later.
        """
        everything = taken.everything()
        if any(local(one).is_cuda for one in everything.values()):
            self._launch(taken, routine)
            return False
        copied = self._buffers.copy(everything) if routine else copies(everything)
        mine = taken.of(copied)
        if mine.values:
            self._values.keep(taken.at, Copies(mine.values))
        returned = None if taken.values or routine is None else copied
        self._session.worker_thread.hand(
            "statistics", lambda: self._measure(mine, routine, returned)
        )
        return True

    def _measure(
        self, taken: Taken, routine: Measurement | None, copied: dict[str, Tensor] | None
    ) -> None:
        began = thread_cpu_seconds()
        measured = measure(taken.plain, with_histogram=False)
        if taken.with_histogram:
            measured.extend(measure(taken.with_histogram, with_histogram=True))
        self._record(taken, measured)
        self._multiply(taken, taken.everything())
        if copied is not None:
            self._buffers.give_back(copied)
        if routine is not None:
            routine.behind.learn(thread_cpu_seconds() - began)

    def _launch(self, taken: Taken, routine: Measurement | None) -> None:
        for tensors, with_histogram in ((taken.plain, False), (taken.with_histogram, True)):
            if tensors:
                timed = self._session.overhead.queue(
                    "statistics", launch_timed, tensors, with_histogram
                )
                pending = _OnTheWay(self, taken, timed, routine)
                self._session.worker_thread.expect("statistics", pending)
        if taken.values:
            copied = self._session.overhead.queue("copies", copies, taken.values)
            self._values.keep(taken.at, Copies(copied))
        if taken.reductions:
            everything = taken.everything()
            factors = Copies(copies({name: everything[name] for _, name in taken.reductions}))
            self._session.worker_thread.hand(
                "products", lambda: self._multiply(taken, factors.on_the_host())
            )

    def _multiply(self, taken: Taken, tensors: Mapping[str, Tensor]) -> None:
        """The one reduction that statistics cannot give."""
        for _, name in taken.reductions:
            product = _product(tensors[name])
            self._session.recorder.scalar(f"prod/{name}", product, "reduction", taken.at)

    def _record(self, taken: Taken, measured: Measured) -> None:
        for name, reason in measured.left_out.items():
            self._session.store.notice(NoticeKind.NOT_COLLECTED, f"statistics of {name}", reason)
        self._log.add_all(measured, taken.at, taken.time_ns)
        if taken.on_measured is not None:
            taken.on_measured(measured, taken.at)

    def take(self, taken: Taken, timed: Timed, routine: Measurement | None) -> None:
        """Statistics that a device has computed."""
        self._record(taken, timed.pending.measured())
        seconds = timed.seconds()
        self._session.overhead.budget.device_took(seconds)
        if routine is not None:
            routine.inline.learn(seconds)

    def _flush(self) -> None:
        log, self._log = self._log, _StatisticsLog()
        if log.names:
            columns: list[Any] = [
                log.names,
                log.times_ns,
                log.steps,
                log.modes,
                *log.columns,
                log.histograms,
            ]
            self._session.store.writer.add_columns(
                STATISTICS, columns, min(log.times_ns), max(log.times_ns)
            )


@dataclass(slots=True)
class _OnTheWay:
    """Statistics that a device is computing."""

    records: Records
    taken: Taken
    timed: Timed
    routine: Measurement | None

    def is_ready(self) -> bool:
        return self.timed.is_ready()

    def take(self) -> None:
        self.records.take(self.taken, self.timed, self.routine)


class _StatisticsLog(Measured):
    """Rows of several steps, until they are written together."""

    def __init__(self) -> None:
        super().__init__()
        self.times_ns: array[int] = array("q")
        self.steps: array[int] = array("q")
        self.modes: list[str] = []

    def add_all(self, measured: Measured, at: At, time_ns: int) -> None:
        """All rows of a measurement."""
        count = len(measured.names)
        self.extend(measured)
        self.times_ns.extend(array("q", [time_ns]) * count)
        self.steps.extend(array("q", [at[1]]) * count)
        self.modes += [at[0]] * count


def _product(tensor: Any) -> float:
    with torch.no_grad():
        values, implied_zeros = plain(tensor)
        return 0.0 if implied_zeros else float(values.to(torch.float64).prod())
