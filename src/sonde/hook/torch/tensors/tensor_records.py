"""Records of collected tensors: statistics, full values and products."""

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from sonde.clock import thread_cpu_seconds
from sonde.hook.budget import Measurement
from sonde.hook.session import Session
from sonde.hook.steps import StepId
from sonde.hook.torch.tensors.device_timing import Timed, launch_timed
from sonde.hook.torch.tensors.full_values import FullValues
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.snapshots import Buffers, Copies, copies
from sonde.hook.torch.tensors.statistics import Measured, measure, plain
from sonde.records.notice import NoticeKind
from sonde.store.format import STATISTICS

Listener = Callable[[Measured, StepId], None]


@dataclass(slots=True)
class StepTensors:
    """Tensors of one step, by what is requested of them."""

    at: StepId
    time_ns: int
    plain: dict[str, Tensor] = field(default_factory=dict)
    with_histogram: dict[str, Tensor] = field(default_factory=dict)
    values: dict[str, Tensor] = field(default_factory=dict)
    reductions: list[tuple[str, str]] = field(default_factory=list)
    on_measured: Listener | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there are no tensors."""
        return not (self.plain or self.with_histogram)

    def everything(self) -> dict[str, Tensor]:
        """Return all tensors, without duplicates."""
        return {**self.plain, **self.with_histogram}

    def of(self, copied: Mapping[str, Tensor]) -> "StepTensors":
        """Return the same requests for other tensors of these names."""
        return StepTensors(
            self.at,
            self.time_ns,
            {name: copied[name] for name in self.plain},
            {name: copied[name] for name in self.with_histogram},
            {name: copied[name] for name in self.values},
            self.reductions,
            self.on_measured,
        )


class TensorRecords:
    """Turn collected tensors into records, in the worker thread."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._values = FullValues(session)
        self._buffers = Buffers()
        self._log = _StatisticsLog()
        session.listeners.on_begin(self._reset)
        session.listeners.before_flush(self._flush)

    def _reset(self) -> None:
        self._log = _StatisticsLog()

    def keep(self, tensors: StepTensors, routine: Measurement | None) -> bool:
        """Copy what training is about to change; the worker thread does the rest.

        Returns:
            Whether the cost is known on return; the cost on a device is known later.
        """
        everything = tensors.everything()
        if any(local(tensor).is_cuda for tensor in everything.values()):
            self._launch(tensors, routine)
            return False
        copied = self._buffers.copy(everything) if routine else copies(everything)
        copied_tensors = tensors.of(copied)
        if copied_tensors.values:
            self._values.keep(tensors.at, Copies(copied_tensors.values))
        reusable = None if tensors.values or routine is None else copied
        self._session.worker_thread.submit(
            "statistics", lambda: self._measure(copied_tensors, routine, reusable)
        )
        return True

    def write_held(self) -> None:
        """Write the full values that wait for the end of their step."""
        self._values.write_held()

    def _measure(
        self, tensors: StepTensors, routine: Measurement | None, copied: dict[str, Tensor] | None
    ) -> None:
        began = thread_cpu_seconds()
        measured = measure(tensors.plain, with_histogram=False)
        if tensors.with_histogram:
            measured.extend(measure(tensors.with_histogram, with_histogram=True))
        self._record(tensors, measured)
        self._multiply(tensors, tensors.everything())
        if copied is not None:
            self._buffers.give_back(copied)
        if routine is not None:
            routine.background.learn(thread_cpu_seconds() - began)

    def _launch(self, tensors: StepTensors, routine: Measurement | None) -> None:
        for group, with_histogram in ((tensors.plain, False), (tensors.with_histogram, True)):
            if group:
                timed = self._session.overhead.queue(
                    "statistics", launch_timed, group, with_histogram
                )
                pending = _PendingStatistics(self, tensors, timed, routine)
                self._session.worker_thread.expect("statistics", pending)
        if tensors.values:
            copied = self._session.overhead.queue("copies", copies, tensors.values)
            self._values.keep(tensors.at, Copies(copied))
        if tensors.reductions:
            everything = tensors.everything()
            factors = Copies(copies({name: everything[name] for _, name in tensors.reductions}))
            self._session.worker_thread.submit(
                "products", lambda: self._multiply(tensors, factors.on_the_host())
            )

    def _multiply(self, tensors: StepTensors, factors: Mapping[str, Tensor]) -> None:
        """Record products, the only reduction that statistics do not include."""
        for _, name in tensors.reductions:
            product = _product(factors[name])
            self._session.recorder.scalar(f"prod/{name}", product, "reduction", tensors.at)

    def _record(self, tensors: StepTensors, measured: Measured) -> None:
        for name, reason in measured.left_out.items():
            self._session.store.notice(NoticeKind.NOT_COLLECTED, f"statistics of {name}", reason)
        self._log.add_all(measured, tensors.at, tensors.time_ns)
        if tensors.on_measured is not None:
            tensors.on_measured(measured, tensors.at)

    def take(self, tensors: StepTensors, timed: Timed, routine: Measurement | None) -> None:
        """Record statistics that a device has computed."""
        self._record(tensors, timed.pending.measured())
        seconds = timed.seconds()
        self._session.overhead.budget.charge_device(seconds)
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
class _PendingStatistics:
    """Statistics that a device is computing."""

    records: TensorRecords
    tensors: StepTensors
    timed: Timed
    routine: Measurement | None

    def is_ready(self) -> bool:
        return self.timed.is_ready()

    def take(self) -> None:
        self.records.take(self.tensors, self.timed, self.routine)


class _StatisticsLog(Measured):
    """Rows of several steps, written together."""

    def __init__(self) -> None:
        super().__init__()
        self.times_ns: array[int] = array("q")
        self.steps: array[int] = array("q")
        self.modes: list[str] = []

    def add_all(self, measured: Measured, at: StepId, time_ns: int) -> None:
        """Add all rows of a measurement."""
        count = len(measured.names)
        self.extend(measured)
        self.times_ns.extend(array("q", [time_ns]) * count)
        self.steps.extend(array("q", [at[1]]) * count)
        self.modes += [at[0]] * count


def _product(tensor: Any) -> float:
    with torch.no_grad():
        values, implied_zeros = plain(tensor)
        return 0.0 if implied_zeros else float(values.to(torch.float64).prod())
