"""Model inputs, batch by batch: reused samples, and the order of samples."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from sonde.hook.steps import FinishedStep, Pass, StepId
from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.checks.measures.batch_means import BatchMeans
from sonde.hook.torch.checks.measures.input_sizes import InputSizes
from sonde.hook.torch.checks.measures.sample_reuse import Batch, SampleReuse
from sonde.hook.torch.loop.deferred_hooks import OPTIMIZER
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.tensors.row_samples import MAX_ROWS, RowSample, sample_rows
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

_MAX_INPUTS = 3  # hashed together, since one input of a pair may occur in several samples
_MAX_EVALUATION_ROWS = 512  # a validation set is often a single batch
_BATCHES_PER_TASK = 64
_MAX_PENDING = 512  # an evaluation may be long
_DENSE_BATCHES = 512  # training batches; later ones are subsampled
_LATER_INTERVAL = 16
_ASSUMED_COST_NS = 3_000  # measuring it would double the cost


class ModelInputs(StateCheck):
    """Copy a few elements of every batch, including batches of deferred steps."""

    name = "model inputs"
    observes = (
        ObservationKind.SAMPLES_AGAIN,
        ObservationKind.BATCH_MEANS,
        ObservationKind.INPUT_SIZE,
        ObservationKind.NEW_OPTIMIZER,
    )
    order = 140

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        session = context.session
        self._deferred = context.modules.deferred
        self._feeds = self._deferred.feeds
        self._sizes = InputSizes(session, self._steps_behind)
        self._reuse = SampleReuse(session)
        self._means = BatchMeans(session, "input")
        self.begin()
        self._deferred.current.listen(
            begins=session.guard.shield(self.name, self._sample_deferred, None)
        )

    def begin(self) -> None:
        """Forget the batches of an earlier training run."""
        self._pending: list[Batch | None] = []  # None: another optimizer begins to train
        self._has_evaluated = False
        self._trained_batches = 0
        self._newest = -1  # the newest optimizer that has stepped
        self._sizes.forget()
        self._read_plan()
        self._reuse.forget()

    def _read_plan(self) -> None:
        needs = self._session.plan.needs
        self._is_needed = needs(ObservationKind.SAMPLES_AGAIN) or needs(ObservationKind.BATCH_MEANS)

    def forward_begins(
        self,
        forward: ForwardPass,
        _module: nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Sample the batch of a forward pass."""
        is_training = forward.kind is Pass.TRAIN
        is_due = self._is_due(is_training)
        if is_due and is_training:
            self._sizes.note(args, kwargs)
        inputs = _inputs(is_training, args, kwargs) if is_due else ()
        if not inputs:
            return
        if is_training:
            self._add(Batch(True, inputs))
            return
        series = _series(forward.batch)

        def settled(at: StepId) -> None:
            # a pass without gradients inside a training step uses a training batch
            if at[0] != Mode.TRAIN and at[1] >= 0:
                self._add(Batch(False, inputs, series))

        forward.when_settled(settled)

    def _sample_deferred(
        self, is_training: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if self._is_due(is_training):
            self._session.overhead.charge(_ASSUMED_COST_NS)
            if is_training:
                self._sizes.note(args, kwargs)
            inputs = _inputs(is_training, args, kwargs)
            if inputs:
                batch = None if is_training else self._feeds.batch
                self._add(Batch(is_training, inputs, _series(batch)))

    def _steps_behind(self) -> int:
        """Count the deferred steps that are not replayed yet."""
        return sum(note[0] == OPTIMIZER for note in self._deferred.notes)

    def _is_due(self, is_training: bool) -> bool:
        if not (self._is_needed and is_training):
            return self._is_needed
        self._trained_batches += 1
        return (
            self._trained_batches <= _DENSE_BATCHES or self._trained_batches % _LATER_INTERVAL == 0
        )

    def _add(self, batch: Batch) -> None:
        self._pending.append(batch)
        if not batch.is_training:
            self._has_evaluated = True
        elif self._trained_batches <= _DENSE_BATCHES and batch.inputs[0].kind.startswith("<f"):
            self._means.add(batch.inputs[0])
        if len(self._pending) >= _MAX_PENDING:
            self._hand_over()

    def after_step(self, step: FinishedStep) -> None:
        """Pass batches to the worker thread, and record the first step of each optimizer."""
        if step.mode != Mode.TRAIN:
            return
        newest = max(step.optimizers, default=self._newest)
        if newest > self._newest and self._session.plan.needs(ObservationKind.NEW_OPTIMIZER):
            at = (Mode.TRAIN.value, step.number)
            self._session.recorder.observe(ObservationKind.NEW_OPTIMIZER, str(newest), at=at)
        if newest > self._newest >= 0:
            # another fold or ensemble member: earlier samples belong to another model
            self._pending.append(None)
        self._newest = max(newest, self._newest)
        if self._has_evaluated or len(self._pending) >= _BATCHES_PER_TASK:
            self._hand_over()
            self._read_plan()

    def _hand_over(self, *, is_last: bool = False) -> None:
        pending, self._pending, self._has_evaluated = self._pending, [], False
        at = (Mode.TRAIN.value, max(0, self._session.steps.counts["train"] - 1))
        self._session.worker_thread.submit(self.name, lambda: self._take(pending, at, is_last))

    def end(self) -> None:
        """Process the last batches."""
        self._hand_over(is_last=True)

    def _take(self, pending: list[Batch | None], at: StepId, is_last: bool) -> None:
        begin = 0
        for index, batch in enumerate(pending):
            if batch is None:
                self._reuse.take([entry for entry in pending[begin:index] if entry], at)
                self._reuse.forget()
                begin = index + 1
        self._reuse.take([entry for entry in pending[begin:] if entry], at)
        if is_last:
            self._reuse.end_evaluation(at)


def _series(batch: Any) -> Any:
    """Return the series that a batch of an evaluation belongs to."""
    return None if batch is None else batch.series


def _inputs(
    is_training: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[RowSample, ...]:
    """Sample the first input tensors that have one row per sample."""
    inputs: list[RowSample] = []
    max_rows = MAX_ROWS if is_training else _MAX_EVALUATION_ROWS
    for tensor in _tensors((*args, *kwargs.values())):
        rows = sample_rows(tensor, max_rows)
        if rows is None:
            return ()  # without this input, different samples could look equal
        if not inputs or rows.rows == inputs[0].rows:
            inputs.append(rows)
        if len(inputs) == _MAX_INPUTS:
            break
    return tuple(inputs)


def _tensors(values: tuple[Any, ...]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, dict | list | tuple):
            inside = value.values() if isinstance(value, dict) else value
            yield from (element for element in inside if isinstance(element, Tensor))
