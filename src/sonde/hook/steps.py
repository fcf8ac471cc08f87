"""Turn the events that adapters report into steps with modes and phases.

A training step ends when an optimizer has stepped. Several optimizers that step once each belong to
one step, which ends when one of them begins to step again. Evaluation steps are forward passes that
are not followed by training; a pass that may be one stays undecided until the next event.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from sonde.clock import NANOSECONDS
from sonde.hook.counted_steps import LANE, CountedSteps, EventRow
from sonde.hook.open_step import OpenStep, Span
from sonde.records.step import NO_STEP, EventCategory, Mode, Phase

BY_BACKWARD = -1  # in place of an optimizer, if backward passes are counted as steps
_MAX_SPANS = 64  # per step; further spans extend the last one if it has the same phase
_MAX_SPANS_IN_TOTAL = 4096  # then the last one of the phase, since some loops never end a step
_MAX_UNDECIDED = 16384  # passes; beyond that they count as evaluation

# plain strings: looking up enum members would dominate the cost of these methods
_TRAIN, _PHASE, _STEP = Mode.TRAIN.value, EventCategory.PHASE.value, EventCategory.STEP.value
_DATA_WAIT, _FORWARD = Phase.DATA_WAIT.value, Phase.FORWARD.value
_BACKWARD, _OPTIMIZER = Phase.BACKWARD.value, Phase.OPTIMIZER.value

# phases before a forward pass that belong to the same step
_LEADING = (_DATA_WAIT, Phase.HOST_TO_DEVICE.value)


class Pass(Enum):
    """Purpose of a forward pass, if it is certain when the pass begins."""

    TRAIN = auto()
    EVAL = auto()
    UNDECIDED = auto()  # without gradients or in eval mode: the next events decide


class FinishedStep(NamedTuple):
    """A finished step."""

    mode: str
    number: int
    start_ns: int
    end_ns: int
    micro_steps: int = 1
    optimizers: tuple[int, ...] = ()


StepId = tuple[str, int]  # a mode, and the number of a step in it


class Steps(CountedSteps):
    """Turns events of the training thread into rows."""

    def __init__(
        self,
        now_ns: Callable[[], int],
        emit: Callable[[EventRow], None],
        on_finished: Callable[[FinishedStep], None],
    ) -> None:
        self._now_ns = now_ns
        self._emit = emit
        self._on_finished = on_finished
        self.reset()

    def reset(self) -> None:
        """Drop all steps, for example in a forked child."""
        self.counts: dict[str, int] = {_TRAIN: 0}
        self.forced_mode: str | None = None  # set by the script
        self.optimizers_alive = 1
        self.is_explicit = False  # the script ends its steps itself
        self._latest_ns = 0
        self._open = OpenStep()
        self._last_end_ns = 0
        self._undecided: list[list[Span]] = []
        self._awaiting: dict[int, list[Callable[[StepId], None]]] = {}  # by the start of a pass
        self._evaluation = None
        self._profiled_by = ""
        self._previous: tuple[int, ...] = ()  # optimizers of the previous training step

    @property
    def mode(self) -> str:
        """The mode set by the script, else train."""
        return self.forced_mode or _TRAIN

    @property
    def number(self) -> int:
        """Number of the current step in its mode."""
        return self.counts.get(self.mode, 0)

    @property
    def latest_seconds(self) -> float:
        """Duration of the previous training step."""
        return self._latest_ns / NANOSECONDS

    @property
    def latest(self) -> tuple[str, int]:
        """The step that values logged by the script belong to: the current or the last one.

        An evaluation step ends with its pass, a training step when its optimizer has stepped.
        Values logged between that and the first event of the next step belong to the ended step.
        """
        mode, number = self.mode, self.number
        if self.is_explicit or not number:
            return mode, number
        has_begun = mode == Mode.TRAIN and not self._is_between()
        return mode, number if has_begun else number - 1

    def force(self, mode: str | None) -> str | None:
        """Set the mode of the following passes; return the mode that was set before."""
        self._decide(is_eval=True)
        previous, self.forced_mode = self.forced_mode, mode
        return previous

    def set_time_source(self, now_ns: Callable[[], int]) -> None:
        """Use this function for timestamps from now on."""
        self._now_ns = now_ns

    @property
    def is_plain(self) -> bool:
        """Whether there is one optimizer, no undecided pass, and no control by the script."""
        is_scripted = self.is_explicit or self.forced_mode is not None
        return not (is_scripted or self._undecided or self.optimizers_alive > 1)

    def profile(self, kind: str) -> None:
        """Mark steps as profiled from now on; an empty kind ends that.

        The time to start or stop the profiler between two steps belongs to neither of them.
        """
        if self._is_between():
            self._last_end_ns = self._last_end_ns and self._now_ns()
        else:
            self._open.profiled_by = kind or self._profiled_by
        self._profiled_by = kind

    def resume_at(self, number: int) -> None:
        """Continue counting training steps from a checkpoint."""
        self.counts[_TRAIN] = number

    def span(self, phase: str, start_ns: int, category: str = _PHASE) -> None:
        """Add a span that ends now."""
        self._add((phase, category, start_ns, self._now_ns() - start_ns))

    def data_wait(self, start_ns: int, *, is_exhausted: bool) -> None:
        """Add the wait for a batch; undecided passes before it were an evaluation."""
        self._decide(is_eval=True)
        if not is_exhausted:
            self.span(_DATA_WAIT, start_ns)

    def possible_steps(self, kind: Pass) -> tuple[StepId, ...]:
        """The steps that a pass may belong to; exactly one if that is certain."""
        forced = self.forced_mode
        if kind is Pass.TRAIN and forced is None and not self._open.updates:
            return ((_TRAIN, self.counts[_TRAIN]),)
        is_forced = forced not in (None, _TRAIN)
        mode = forced if is_forced and forced is not None else Mode.EVAL.value
        evaluation = (mode, self.counts.get(mode, 0) + len(self._undecided))
        if is_forced or kind is Pass.EVAL or (kind is Pass.UNDECIDED and forced is not None):
            return (evaluation,)
        number = self.counts[_TRAIN]
        # a pass after an optimizer step belongs to this step only if another optimizer follows
        is_open = bool(self._open.updates) and not self.is_explicit
        training = tuple([(_TRAIN, number + offset) for offset in range(1 + is_open)])
        return training if kind is Pass.TRAIN else (evaluation, *training)

    def forward(
        self, start_ns: int, kind: Pass, on_settled: Callable[[StepId], None] | None = None
    ) -> None:
        """Add an outermost forward pass that ends now.

        `on_settled` is called with the step of the pass once that is certain.
        """
        if on_settled is not None:
            self._awaiting[start_ns] = [on_settled]
        span = (_FORWARD, _PHASE, start_ns, self._now_ns() - start_ns)
        if kind is Pass.TRAIN and self.forced_mode in (None, _TRAIN):
            if self._undecided:
                self._decide(is_eval=False)
            self._add(span)
            return
        leading = self._take_leading()
        if kind is Pass.EVAL or self.forced_mode is not None:
            self._decide(is_eval=True)
            self._finish_evaluation([*leading, span])
        else:
            self._undecided.append([*leading, span])
            if len(self._undecided) >= _MAX_UNDECIDED:
                self._decide(is_eval=True)

    def evaluation_loss(self) -> None:
        """Count undecided passes as evaluation, since a loss was computed without gradients."""
        self._decide(is_eval=True)

    def backward(self, start_ns: int) -> None:
        """Add a backward pass that ends now."""
        if self._undecided:
            self._decide(is_eval=False)
        self.span(_BACKWARD, start_ns)
        step = self._open
        if step.updates and step.end_ns >= start_ns:  # optimizers have stepped inside it
            step.extend_end(self._now_ns())
        else:
            step.backwards += 1

    def discard_micro_steps(self) -> None:
        """Drop the backward passes since the last optimizer step, which does not use them."""
        self._open.backwards = 0

    def join_backwards(self, surplus: int) -> None:
        """Subtract backward passes that were terms of one loss rather than separate micro-steps."""
        self._open.backwards -= surplus

    def optimizer_begins(self, optimizer: int) -> None:
        """Handle the start of an optimizer step; a repeated optimizer begins a new step."""
        if self._undecided:
            self._decide(is_eval=False)
        if self.is_explicit or not self._open.updates:
            return
        optimizers = self._open.optimizers
        if optimizer in optimizers:
            self._split_turns(optimizers, optimizers.index(optimizer))
            self._finish()
        elif self.optimizers_alive <= 1:  # the other optimizers no longer exist
            self._finish()

    def optimizer_created(self) -> None:
        """End the current step, because the script creates another optimizer."""
        if self._open.updates and not self.is_explicit:
            self._finish()

    def _split_turns(self, optimizers: list[int], index: int) -> None:
        """Split the step where optimizers take turns with several steps each.

        Only the second step in a row shows that another optimizer has taken over.
        """
        if index and self._previous == tuple(optimizers[:index]):
            self._open, rest = self._open.split(index)
            self._finish()
            self._open = rest

    def optimizer_ends(self, optimizer: int, start_ns: int, *, is_skipped: bool = False) -> None:
        """Handle the end of an optimizer step; a gradient scaler may have skipped it."""
        self.span(_OPTIMIZER, start_ns)
        self._open.update(optimizer, self._now_ns(), is_skipped=is_skipped)
        if self.optimizers_alive <= 1 and not self.is_explicit:
            self._finish()

    def count_backward(self, micro_steps: int) -> None:
        """Count the backward pass that has just ended as the end of a step, for now."""
        self._open.count_backward(BY_BACKWARD, self._now_ns(), micro_steps)

    def stop_counting_backward(self) -> None:
        """Stop counting backward passes as steps: something else ends the current step."""
        if self._open.updates:
            self._open = self._open.without_updates()

    def discard_open(self) -> None:
        """Record all spans since the last step without assigning them to a step."""
        for span in self._open.spans:
            self._emit_span(span, NO_STEP, _TRAIN)
        self._open = OpenStep()

    def end_step(self) -> None:
        """End the current step on request of the script."""
        self._decide(is_eval=False)
        has_ended = not self.is_explicit and self.number and self._is_between()
        self.is_explicit = True
        if has_ended and self.mode == Mode.TRAIN:
            return
        self._open.mark_end(self._now_ns())
        if self.mode == _TRAIN:
            self._finish()
        else:
            self._finish_evaluation(self._open.spans)
            self._open = OpenStep()

    def end_round(self, trainer: int) -> None:
        """End a step that a framework reports as a whole, unless the script ends its steps."""
        self._decide(is_eval=True)
        if not self.is_explicit:
            self._open.update(trainer, self._now_ns(), is_skipped=False)
            self._finish()

    def close(self) -> None:
        """Finish the current step if it has an end; discard it otherwise."""
        self._decide(is_eval=True)
        if self._open.updates:
            self._finish()
        self.discard_open()
        self._last_end_ns = 0

    def _is_between(self) -> bool:
        """Whether a training step has ended and the next one has no event yet."""
        step = self._open
        return not (step.spans or step.updates or step.backwards or self._undecided)

    def _add(self, span: Span) -> None:
        spans = self._open.spans
        if len(spans) >= _MAX_SPANS:
            index = _last_index(spans, span[0]) if len(spans) >= _MAX_SPANS_IN_TOTAL else -1
            phase, category, start_ns, duration_ns = spans[index]
            if phase == span[0]:
                spans[index] = (phase, category, start_ns, duration_ns + span[3])
                if span[2] in self._awaiting:
                    callbacks = self._awaiting.pop(span[2])
                    self._awaiting.setdefault(start_ns, []).extend(callbacks)
                return
        spans.append(span)

    def _take_leading(self) -> list[Span]:
        """Remove and return the spans that lead to a non-training pass, which they belong to."""
        spans, since = self._open.spans, self._open.spans_at_end
        first = len(spans)
        while first > since and spans[first - 1][0] in _LEADING:
            first -= 1
        leading: list[Span] = spans[first:]
        del spans[first:]
        return leading

    def _decide(self, *, is_eval: bool) -> None:
        if not self._undecided:
            return
        undecided, self._undecided = self._undecided, []
        for spans in undecided:
            if is_eval:
                self._finish_evaluation(spans)
            else:
                self._open.spans += spans

    def _finish_evaluation(self, spans: list[Span]) -> None:
        mode = self.forced_mode if self.forced_mode not in (None, _TRAIN) else Mode.EVAL.value
        number = self.counts.get(mode, 0)
        self.counts[mode] = number + 1
        end_ns = self._now_ns()
        start_ns = min((span[2] for span in spans), default=end_ns)
        if spans:
            end_ns = max(span[2] + span[3] for span in spans)
        for span in spans:
            self._emit_span(span, number, mode)
        detail = OpenStep(profiled_by=self._profiled_by).detail()
        self._emit_step(FinishedStep(mode, number, start_ns, end_ns), detail)
        first_ns = self._evaluation[0] if self._evaluation else start_ns
        self._evaluation = (first_ns, end_ns)

    def _settle_evaluation(self, step: OpenStep, start_ns: int) -> None:
        """Add an evaluation between two training steps as a phase of the later one."""
        if self._evaluation is None or self._evaluation[1] > step.end_ns:
            return
        first_ns, last_ns = self._evaluation
        self._evaluation = None
        if first_ns >= start_ns:
            length_ns = last_ns - first_ns
            step.spans.append((Phase.EVALUATION.value, _PHASE, first_ns, length_ns))

    def _finish(self) -> None:
        step = self._open
        step.profiled_by = step.profiled_by or self._profiled_by
        rest = step.spans[step.spans_at_end :]
        del step.spans[step.spans_at_end :]
        self._open = OpenStep(spans=rest, backwards=step.backwards)
        number = self.counts[_TRAIN]
        self.counts[_TRAIN] = number + 1
        start_ns = self._last_end_ns or step.first_start_ns()
        self._settle_evaluation(step, start_ns)
        self._last_end_ns = step.end_ns
        self._latest_ns = step.end_ns - start_ns
        for span in step.spans:
            self._emit_span(span, number, _TRAIN)
        finished = FinishedStep(
            _TRAIN,
            number,
            start_ns,
            step.end_ns,
            max(1, step.micro_steps),
            tuple(step.optimizers),
        )
        self._previous = finished.optimizers
        self._emit_step(finished, step.detail())

    def _emit_span(self, span: Span, number: int, mode: str) -> None:
        phase, category, start_ns, duration_ns = span
        self._emit((phase, category, LANE, start_ns, duration_ns, number, mode, ""))
        if self._awaiting and phase == _FORWARD:
            for on_settled in self._awaiting.pop(start_ns, ()):
                on_settled((mode, number))

    def _emit_step(self, step: FinishedStep, detail: str) -> None:
        length_ns = step.end_ns - step.start_ns
        self._emit((_STEP, _STEP, LANE, step.start_ns, length_ns, step.number, step.mode, detail))
        self._on_finished(step)


def _last_index(spans: list[Span], phase: str) -> int:
    """Index of the last span of a phase; -1, which is the last span of any, if there is none."""
    indexes = range(len(spans) - 1, -1, -1)
    return next((index for index in indexes if spans[index][0] == phase), -1)
