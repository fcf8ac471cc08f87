"""Full values of tensors, one file per step and worker."""

import threading

from sonde.hook.session import Session
from sonde.hook.steps import FinishedStep, StepId
from sonde.hook.torch.tensors.snapshots import Copies
from sonde.hook.torch.tensors.statistics import raw_tensor
from sonde.records.notice import NoticeKind
from sonde.store import layout
from sonde.store.tensors import parts_of_file

_MAX_PENDING_BYTES = 4 * 1024**3
_MAX_WAIT_SECONDS = 60.0
_MAX_HELD_BYTES = 1024**3  # until a step is over; in some loops, steps cannot be detected
_MAX_STEPS_REMEMBERED = 10_000


class FullValues:
    """Hold copies until their step is over, then write them in the worker thread."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._reset()
        session.listeners.on_begin(self._reset)
        session.listeners.on_step("tensor values", self._after_step)
        session.listeners.on_end(self.write_held)

    def _reset(self) -> None:
        """Start empty, since a forked child must not use its parent's copies and locks."""
        self._held: dict[StepId, list[Copies]] = {}
        self._held_bytes = 0
        self._written: dict[StepId, int] = {}  # number of files per step
        self._pending_bytes = 0
        self._lock = threading.Lock()
        self._has_room = threading.Event()

    def keep(self, at: StepId, copied: Copies) -> None:
        """Hold values of a step."""
        if self._held and self._held_bytes + copied.nbytes > _MAX_HELD_BYTES:
            self.write_held()
        self._held.setdefault(at, []).append(copied)
        self._held_bytes += copied.nbytes

    def _after_step(self, step: FinishedStep) -> None:
        for at in [at for at in self._held if _is_over(at, step)] if self._held else ():
            self._hand_over(at, self._held.pop(at))

    def write_held(self) -> None:
        """Write all values, including those of steps that are not over."""
        for at in list(self._held):
            self._hand_over(at, self._held.pop(at))

    def _hand_over(self, at: StepId, copies: list[Copies]) -> None:
        size = sum(copied.nbytes for copied in copies)
        self._held_bytes -= size
        self._wait_for_room(size)
        with self._lock:
            self._pending_bytes += size
        self._session.worker_thread.submit("tensor values", lambda: self._write(at, copies, size))

    def _wait_for_room(self, size: int) -> None:
        """Make training wait, with a notice, before the machine runs out of memory."""
        while self._pending_bytes and self._pending_bytes + size > _MAX_PENDING_BYTES:
            self._has_room.clear()
            self._session.store.notice(
                NoticeKind.CHANGED,
                "training",
                "waiting for the store: it cannot keep up with the requested full values",
            )
            if not self._session.clock.wait(self._has_room, _MAX_WAIT_SECONDS):
                return

    def _write(self, at: StepId, copies: list[Copies], size: int) -> None:
        session = self._session
        assert session.store.info is not None
        mode, step = at
        try:
            tensors = {
                name: tensor for copied in copies for name, tensor in copied.on_the_host().items()
            }
            raw = {name: raw_tensor(tensor) for name, tensor in tensors.items()}
            key = layout.values_key(session.store.info.rank, mode, step, self._token(at))
            chunks = parts_of_file(raw, {"step": str(step), "mode": mode, "key": key})
            session.store.backend.write_parts(key, chunks)
            session.store.add_value_bytes(sum(map(len, chunks)))
        finally:
            with self._lock:
                self._pending_bytes -= size
            self._has_room.set()

    def _token(self, at: StepId) -> str:
        """Return a new file token if values of this step were written before."""
        count = self._written[at] = self._written.get(at, 0) + 1
        if len(self._written) > _MAX_STEPS_REMEMBERED:
            del self._written[next(iter(self._written))]
        token = self._session.store.writer.token
        return token if count == 1 else f"{token}_{count}"


def _is_over(at: StepId, step: FinishedStep) -> bool:
    """Return whether a step gets no more values; those of evaluation steps may come late."""
    mode, number = at
    if mode == step.mode:
        return number < step.number or (mode == "train" and number == step.number)
    return mode != "train"
