"""Record arrays that a script saves in a process without a supported framework."""

from functools import partial
from typing import Any

from sonde.hook.session import Session
from sonde.hook.steps import FinishedStep, StepId
from sonde.hook.tensors import arrays
from sonde.records.tensor import TensorKind
from sonde.records.worker import TensorInfo
from sonde.store import layout
from sonde.store.format import STATISTICS
from sonde.store.tensors import RawTensor, encode_tensors

_SAVED = (TensorKind.SAVED,)


class SavedArrays:
    """Holds the arrays of a step until it ends; the worker thread computes statistics."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._unwritten: dict[StepId, dict[str, RawTensor]] = {}
        self._files = 0
        session.listeners.on_step("saved arrays", self._after_step)
        session.listeners.on_end(self._write_all)

    def scalar(self, _name: str, _value: Any, _source: str, _at: StepId) -> bool:
        """Always return False: without a framework, no value is a tensor of it."""
        return False

    def save(self, name: str, value: Any, at: StepId) -> bool:
        """Copy and record an array; return False if the value is not an array of numbers."""
        session = self._session
        request = session.plan.request_when_saved(name, at)
        if request is None:
            return True
        try:
            raw = arrays.raw_of(value)
        except (TypeError, ValueError, OverflowError):
            return False
        time_ns = session.clock.now_ns()
        session.worker_thread.submit("statistics", lambda: self._measure(name, raw, time_ns, at))
        if request.values:
            self._unwritten.setdefault(at, {})[name] = raw
        if not session.store.has_tensor(name):
            collections = session.plan.collections_of(name, _SAVED)
            session.store.register_tensor(
                TensorInfo(name, collections, arrays.dtype_of(raw), raw.shape)
            )
        return True

    def _measure(self, name: str, raw: RawTensor, time_ns: int, at: StepId) -> None:
        row = (name, time_ns, at[1], at[0], *arrays.statistics(raw))
        self._session.store.writer.add(STATISTICS, row)

    def _after_step(self, _step: FinishedStep) -> None:
        self._write_all()

    def _write_all(self) -> None:
        unwritten, self._unwritten = self._unwritten, {}
        for at, tensors in unwritten.items():
            self._session.worker_thread.submit("tensor values", partial(self._write, at, tensors))

    def _write(self, at: StepId, tensors: dict[str, RawTensor]) -> None:
        session = self._session
        assert session.store.info is not None
        mode, step = at
        self._files += 1
        token = f"{session.store.writer.token}_s{self._files}"
        key = layout.values_key(session.store.info.rank, mode, step, token)
        facts = {"step": str(step), "mode": mode, "key": key}
        session.store.backend.write(key, encode_tensors(tensors, facts))
