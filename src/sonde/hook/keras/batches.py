"""Turn the batches of `fit` on compiled backends into steps, losses and learning rates."""

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from sonde.hook.keras.counted_means import LOSS, CountedMeans
from sonde.hook.keras.model import KerasModel
from sonde.hook.keras.running_means import Mean, RunningMeans
from sonde.hook.keras.tensor_inspector import TensorInspector
from sonde.hook.round_counter import Columns, CountedRounds, RoundCounter
from sonde.hook.session import Session
from sonde.records.observation import ObservationKind
from sonde.records.step import EventCategory, Mode

COMPILED_STEP = "compiled_step"  # the phase of a batch in which its program is started

_TRAIN = Mode.TRAIN.value
_LEARNING_RATE = "learning_rate"
_READ_SECONDS = 0.5  # until losses are visible to readers


class Batches:
    """Records the batches of one training at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._inspector = TensorInspector(session)
        self.counter = RoundCounter(session, self._inspector, self._record_counted)
        self.counted = CountedMeans(session, self.counter)
        self._means = RunningMeans()
        self._read_at = 0.0
        self._trainings = 0
        self._rounds = 0  # of this training
        self._rate: float | None = None
        self._may_have_new_rate = True
        self._start_ns = 0  # of the current batch
        self._is_inspected = False
        self.is_in_batch = False  # that is recorded by itself
        self.is_in_program = False  # of `fit` or `train_on_batch`
        self.model: KerasModel | None = None
        session.listeners.on_begin(self._reset)
        session.listeners.on_end(self.read_losses)

    def _reset(self) -> None:
        self._trainings, self.model = 0, None
        self._means.forget()

    def begin_training(self, model: KerasModel) -> None:
        """Begin a training; time before its first batch is not part of a step."""
        session = self._session
        self.finish()
        self.model, self._rounds, self._rate = model, 0, None
        self._trainings += 1
        self._may_have_new_rate = True
        self._means = RunningMeans()
        session.steps.close()
        session.overhead.interrupt()
        session.recorder.observe(ObservationKind.NEW_OPTIMIZER, str(self._trainings))

    def begin_epoch(self) -> None:
        """Begin an epoch: the running mean starts over, and callbacks may set a new rate."""
        self.finish()
        self._means.restart()
        self._may_have_new_rate = True

    def finish(self) -> None:
        """Record everything up to the latest batch."""
        self.counter.stop()
        self.read_losses()

    def begin_batch(self) -> None:
        """Begin a batch that is recorded by itself."""
        self.counter.stop()
        self.is_in_batch = True
        self._start_ns = self._session.clock.now_ns()

    def data_arrived(self, start_ns: int) -> None:
        """Record the time that a batch has waited for its data."""
        if self.is_in_batch:
            self._session.steps.data_wait(start_ns, is_exhausted=False)
            self._start_ns = self._session.clock.now_ns()

    def end_batch(
        self, logs: Mapping[str, Any], batches: int = 1, phase: str = COMPILED_STEP
    ) -> None:
        """End a batch, or several that one program has computed.

        Args:
            logs: The running means.
            batches: Their number.
            phase: What took the time since its data arrived; empty if its phases are recorded.
        """
        session, model = self._session, self.model
        if model is None or not self.is_in_batch:
            return
        self.is_in_batch = False
        steps = session.steps
        if batches > 1:
            self._add_earlier(batches - 1)
        if phase:
            steps.span(phase, self._start_ns, EventCategory.USER.value)
        number = steps.counts[_TRAIN]
        if LOSS in logs:
            self._means.add(Mean(number, session.clock.now_ns(), logs[LOSS]), batches)
        self._is_inspected = self._inspector.is_due()
        if self._may_have_new_rate or self._is_read_due():
            self.read_losses()
            self._read_rate((_TRAIN, number))
        self._inspector.inspect(model, (_TRAIN, number), is_inspected=self._is_inspected)
        self._rounds += batches
        steps.end_round(self._trainings)

    def count(self, subject: Callable[[], object]) -> None:
        """Only count the next batches of a subject, if recording each would cost too much."""
        if self.model is None or self._is_inspected:
            return
        self.counter.begin_if_worthwhile(self._rounds, subject, _means_of)
        if self.counter.is_counting:
            self.counted.begin()

    def read_losses(self) -> None:
        """Record the losses of the batches so far; waits for the device."""
        model, session = self.model, self._session
        if model is None or not len(self._means):
            return
        weight = session.guard.attempt("the weight of losses", model.loss_weight, None)
        if model.has_running_mean:
            losses = self._means.read(weight, model.to_number)
        else:
            losses = self._means.read_each(model.to_number)
        for loss in losses:
            at = (_TRAIN, loss.step)
            if isfinite(loss.value):
                session.recorder.scalar_at(LOSS, loss.value, loss.time_ns, at)
            else:  # informs listeners
                session.recorder.scalar(LOSS, loss.value, at=at)
        self._read_at = session.clock.seconds()

    def _is_read_due(self) -> bool:
        is_old = self._session.clock.seconds() >= self._read_at + _READ_SECONDS
        return is_old or self._session.settings.stop_on_non_finite

    def _read_rate(self, at: tuple[str, int]) -> None:
        self._may_have_new_rate = False
        rate = self.model.learning_rate() if self.model is not None else None
        if rate is not None and rate != self._rate:
            self._rate = rate
            self._session.recorder.scalar(_LEARNING_RATE, rate, at=at)

    def _add_earlier(self, batches: int) -> None:
        """Add steps that one program has computed before the last one, as if equally long."""
        now_ns, start_ns = self._session.clock.now_ns(), self._start_ns
        length_ns = (now_ns - start_ns) // (batches + 1)
        ends_ns = [start_ns + length_ns * position for position in range(1, batches + 1)]
        self._session.steps.add_counted(ends_ns)
        self._inspector.rounds_counted(batches)
        self._start_ns = ends_ns[-1]

    def _record_counted(self, rounds: CountedRounds) -> None:
        positions, means = rounds.columns[LOSS][LOSS]
        noted: Iterable[tuple[int, Any]] = zip(positions, means, strict=True)
        for position, (mean, batches) in noted:
            time_ns = rounds.ends_ns[position]
            self._means.add(Mean(rounds.first + position, time_ns, mean), batches)
        self._rounds += len(rounds.ends_ns)
        self.read_losses()


def _means_of(_count: int, results: Sequence[tuple[int, Any]]) -> Columns:
    """The noted means of counted batches, by position."""
    positions = [position for position, _ in results]
    return {LOSS: {LOSS: (positions, [mean for _, mean in results])}}


def reference_to(subject: object) -> Callable[[], object]:
    """A weak reference, by which the counter recognizes whose batches it counts."""
    return weakref.ref(subject)
