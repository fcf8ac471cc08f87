"""Record arrays without a framework: statistics in the worker thread, values after the step."""

from functools import partial
from itertools import count

from sonde.hook.session import Session
from sonde.hook.steps import FinishedStep, StepId
from sonde.hook.tensors.tensor_recorder import SavedTensor
from sonde.records.tensor import TensorKind
from sonde.records.worker import TensorInfo
from sonde.store import arrays, layout
from sonde.store.format import STATISTICS
from sonde.store.tensors import RawTensor, encode_tensors

_file_numbers = count(1)  # of this process, since several recorders may write at one step


class ArrayRecords:
    """Holds the arrays of a step until it ends; the worker thread computes statistics."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._unwritten: dict[StepId, dict[str, RawTensor]] = {}
        session.listeners.on_step("saved arrays", self._after_step)
        session.listeners.on_end(self.write_held)

    def add(self, array: SavedTensor, raw: RawTensor, kinds: tuple[TensorKind, ...]) -> None:
        """Record an array.

        Args:
            array: Its name, its step, and what to record besides its statistics.
            raw: A copy of its elements.
            kinds: Its roles in training.
        """
        session, name = self._session, array.name
        time_ns = session.clock.now_ns()
        session.worker_thread.submit("statistics", lambda: self._measure(array, raw, time_ns))
        if array.request.values:
            self._unwritten.setdefault(array.at, {})[name] = raw
        if not session.store.has_tensor(name):
            collections = session.plan.collections_of(name, kinds)
            session.store.register_tensor(
                TensorInfo(
                    name, (*collections, *array.collections), arrays.dtype_of(raw), raw.shape
                )
            )

    def _measure(self, array: SavedTensor, raw: RawTensor, time_ns: int) -> None:
        mode, step = array.at
        row = (array.name, time_ns, step, mode, *arrays.statistics(raw))
        self._session.store.writer.add(STATISTICS, row)
        for reduction in array.request.reductions:  # only the product is not in the statistics
            scalar = f"{reduction}/{array.name}"
            self._session.recorder.scalar(scalar, arrays.product(raw), "reduction", array.at)

    def _after_step(self, _step: FinishedStep) -> None:
        self.write_held()

    def write_held(self) -> None:
        """Write all values that wait for the end of their step."""
        unwritten, self._unwritten = self._unwritten, {}
        for at, tensors in unwritten.items():
            self._session.worker_thread.submit("tensor values", partial(self._write, at, tensors))

    def _write(self, at: StepId, tensors: dict[str, RawTensor]) -> None:
        session = self._session
        assert session.store.info is not None
        mode, step = at
        token = f"{session.store.writer.token}_s{next(_file_numbers)}"
        key = layout.values_key(session.store.info.rank, mode, step, token)
        facts = {"step": str(step), "mode": mode, "key": key}
        session.store.backend.write(key, encode_tensors(tensors, facts))
