"""Memory that a worker holds while it trains: in a job of seconds the sampler sees little of it."""

import os
from pathlib import Path

from sonde.clock import NANOSECONDS
from sonde.hook.session import Session
from sonde.hook.steps import FinishedStep
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

_PART = "resident memory"
_EVERY_NS = NANOSECONDS // 20  # reading it takes about ten microseconds
_LASTS_NS = 10 * NANOSECONDS  # of training; after that the sampler has enough
_STATM = Path("/proc/self/statm")
_FIELD = 1  # resident pages
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> float | None:
    """What the process holds in memory now; None where the system does not tell."""
    try:
        return float(_STATM.read_text().split()[_FIELD]) * _PAGE_BYTES
    except OSError:
        return None


class ResidentMemory:
    """Records it after steps, in the first seconds of training."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._start_anew()
        session.listeners.on_begin(self._start_anew)
        session.listeners.on_step(_PART, self._step_over)

    def _start_anew(self) -> None:
        self._due_ns = 0
        self._end_ns = 0  # unknown before the first step
        self._is_over = False

    def _step_over(self, step: FinishedStep) -> None:
        if self._is_over or step.mode != Mode.TRAIN:
            return
        session, kind = self._session, ObservationKind.RESIDENT_MEMORY
        now_ns = session.clock.now_ns()  # buffered steps come together: one reading for all
        if now_ns < self._due_ns:
            return
        self._end_ns = self._end_ns or now_ns + _LASTS_NS
        self._due_ns = now_ns + _EVERY_NS
        self._is_over = now_ns > self._end_ns
        value = resident_bytes() if session.plan.needs(kind) else None
        if value is not None:
            session.recorder.observe(kind, "process", value, at=(step.mode, step.number))
