"""What models are given, batch by batch: samples that come again, and the order they come in."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from sonde.hook.session import Session
from sonde.hook.steps import At, FinishedStep, Pass
from sonde.hook.torch.checks.batch_means import BatchMeans
from sonde.hook.torch.checks.input_sizes import InputSizes
from sonde.hook.torch.checks.sample_reuse import Given, SamplesAgain
from sonde.hook.torch.loop.deferred_hooks import OPTIMIZER
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.loop.modules import Modules
from sonde.hook.torch.tensors.row_samples import MOST_ROWS, FewRows, few_rows
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

_PART = "samples"
_MOST_INPUTS = 3  # a sample may be a pair of things that both come again and again
_MOST_EVALUATED_ROWS = 512  # many validation sets are one batch
_TOGETHER = 64  # batches
_MOST_WAITING = 512  # an evaluation may be long
_CLOSELY = 512  # batches that are trained on: later ones are not all needed
_LATER_EVERY = 16
_TAKING_NS = 3_000  # what it is taken to cost: to time it would cost as much again


class GivenBatches:
    """Copies a few numbers of every batch, whether the step is quiet or not."""

    def __init__(self, session: Session, modules: Modules) -> None:
        self._session = session
        self._feeds, self._quiet = modules.quiet.feeds, modules.quiet
        self._sizes = InputSizes(session, self._steps_behind)
        self._again = SamplesAgain(session)
        self._means = BatchMeans(session, "input")
        self._start_anew()
        session.listeners.on_begin(self._start_anew)
        session.listeners.on_step(_PART, self._step_over)
        session.listeners.on_end(self._end)
        modules.listen(_PART, begins=self._begins)
        modules.quiet.peek = session.guard.shield(_PART, self._peek, None)

    def _start_anew(self) -> None:
        self._waiting: list[Given | None] = []  # None: a training begins
        self._has_evaluated = False
        self._trained = 0  # batches
        self._newest = -1  # of the optimizers that have stepped
        self._sizes.forget()
        self._ask()
        self._again.forget()

    def _ask(self) -> None:
        needs = self._session.plan.needs
        self._is_wanted = needs(ObservationKind.SAMPLES_AGAIN) or needs(ObservationKind.BATCH_MEANS)

    def _begins(
        self,
        forward: ForwardPass,
        _module: nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        is_training = forward.kind is Pass.TRAIN
        is_due = self._is_due(is_training)
        if is_due and is_training:
            self._sizes.note(args, kwargs)
        inputs = _inputs(is_training, args, kwargs) if is_due else ()
        if not inputs:
            return
        if is_training:
            self._add(Given(True, inputs))
            return
        series = _series(forward.batch)

        def settled(at: At) -> None:
            # a pass without gradients in a training step looks at a batch that is trained with
            if at[0] != Mode.TRAIN and at[1] >= 0:
                self._add(Given(False, inputs, series))

        forward.when_settled(settled)

    def _peek(self, is_training: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._is_due(is_training):
            self._session.overhead.charge(_TAKING_NS)
            if is_training:
                self._sizes.note(args, kwargs)
            inputs = _inputs(is_training, args, kwargs)
            if inputs:
                batch = None if is_training else self._feeds.batch
                self._add(Given(is_training, inputs, _series(batch)))

    def _steps_behind(self) -> int:
        """Steps that are noted and not gone through yet."""
        return sum(note[0] == OPTIMIZER for note in self._quiet.notes)

    def _is_due(self, is_training: bool) -> bool:
        if not (self._is_wanted and is_training):
            return self._is_wanted
        self._trained += 1
        return self._trained <= _CLOSELY or self._trained % _LATER_EVERY == 0

    def _add(self, batch: Given) -> None:
        self._waiting.append(batch)
        if not batch.is_training:
            self._has_evaluated = True
        elif self._trained <= _CLOSELY and batch.inputs[0].kind.startswith("<f"):
            self._means.add(batch.inputs[0])
        if len(self._waiting) >= _MOST_WAITING:
            self._hand_over()

    def _step_over(self, step: FinishedStep) -> None:
        if step.mode != Mode.TRAIN:
            return
        newest = max(step.optimizers, default=self._newest)
        if newest > self._newest and self._session.plan.needs(ObservationKind.NEW_OPTIMIZER):
            at = (Mode.TRAIN.value, step.number)
            self._session.recorder.observe(ObservationKind.NEW_OPTIMIZER, str(newest), at=at)
        if newest > self._newest >= 0:
            # of another fold, another member: what was trained on before was another model's
            self._waiting.append(None)
        self._newest = max(newest, self._newest)
        if self._has_evaluated or len(self._waiting) >= _TOGETHER:
            self._hand_over()
            self._ask()

    def _hand_over(self, *, is_last: bool = False) -> None:
        waiting, self._waiting, self._has_evaluated = self._waiting, [], False
        at = (Mode.TRAIN.value, max(0, self._session.steps.counts["train"] - 1))
        self._session.worker_thread.hand(_PART, lambda: self._take(waiting, at, is_last))

    def _end(self) -> None:
        self._hand_over(is_last=True)

    def _take(self, waiting: list[Given | None], at: At, is_last: bool) -> None:
        begin = 0
        for place, one in enumerate(waiting):
            if one is None:
                self._again.take([batch for batch in waiting[begin:place] if batch], at)
                self._again.forget()
                begin = place + 1
        self._again.take([batch for batch in waiting[begin:] if batch], at)
        if is_last:
            self._again.end_evaluation(at)


def _series(batch: Any) -> Any:
    """The series that a batch of an evaluation belongs to."""
    return None if batch is None else batch.series


def _inputs(
    is_training: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[FewRows, ...]:
    """Of the first tensors that a model is given, those with a row for each sample."""
    found: list[FewRows] = []
    most = MOST_ROWS if is_training else _MOST_EVALUATED_ROWS
    for tensor in _tensors((*args, *kwargs.values())):
        rows = few_rows(tensor, most)
        if rows is None:
            return ()  # half of a sample may be the same in many
        if not found or rows.rows == found[0].rows:
            found.append(rows)
        if len(found) == _MOST_INPUTS:
            break
    return tuple(found)


def _tensors(values: tuple[Any, ...]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, dict | list | tuple):
            inside = value.values() if isinstance(value, dict) else value
            yield from (one for one in inside if isinstance(one, Tensor))
