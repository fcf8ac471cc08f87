"""Resident memory of a worker in the first seconds, when the agent has few samples."""

import os
from pathlib import Path

from sonde.clock import NANOSECONDS
from sonde.hook.session import Session
from sonde.hook.steps import FinishedStep
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

_COMPONENT = "resident memory"
_INTERVAL_NS = NANOSECONDS // 20  # a reading takes about ten microseconds
_DURATION_NS = 10 * NANOSECONDS  # after that, the agent has enough samples
_STATM = Path("/proc/self/statm")
_FIELD = 1  # resident pages
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> float | None:
    """Resident memory of the process, or None if the system does not report it."""
    try:
        return float(_STATM.read_text().split()[_FIELD]) * _PAGE_BYTES
    except OSError:
        return None


class ResidentMemory:
    """Records resident memory after steps, in the first seconds of training."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._restart()

    def start(self) -> None:
        """Record after every step."""
        listeners = self._session.listeners
        listeners.on_begin(self._restart)
        listeners.on_step(_COMPONENT, self._after_step)

    def _restart(self) -> None:
        self._due_ns = 0
        self._end_ns = 0  # unknown before the first step
        self._is_over = False

    def _after_step(self, step: FinishedStep) -> None:
        if self._is_over or step.mode != Mode.TRAIN:
            return
        session, kind = self._session, ObservationKind.RESIDENT_MEMORY
        now_ns = session.clock.now_ns()  # one reading for all steps that are replayed together
        if now_ns < self._due_ns:
            return
        self._end_ns = self._end_ns or now_ns + _DURATION_NS
        self._due_ns = now_ns + _INTERVAL_NS
        self._is_over = now_ns > self._end_ns
        value = resident_bytes() if session.plan.needs(kind) else None
        if value is not None:
            session.recorder.observe(kind, "process", value, at=(step.mode, step.number))
