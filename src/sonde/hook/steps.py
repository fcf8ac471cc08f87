"""Step, mode and phase bookkeeping: what adapters see becomes steps with phases.

A training step ends when an optimizer has stepped. Where there are several, those that step once
each belong to one step: it is over when one of them begins to step again. Evaluation steps are
forward passes that no training follows; a pass that looks like one waits for what comes next.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from sonde.clock import NANOSECONDS
from sonde.hook.counted_steps import LANE, CountedSteps, EventRow
from sonde.hook.open_step import OpenStep, Span
from sonde.records.step import NO_STEP, EventCategory, Mode, Phase

BY_BACKWARD = -1  # stands for an optimizer where backward passes are counted as steps
_MOST_SPANS = 64  # in one step; further ones lengthen the last where it is of the same phase
_MOST_OF_ALL = 4096  # and then the last of their phase: there are loops that never end a step
_MOST_UNDECIDED = 16384  # passes; what is never decided is no part of a training

# plain texts: an enumeration's members cost more to look up than all else here
_TRAIN, _PHASE, _STEP = Mode.TRAIN.value, EventCategory.PHASE.value, EventCategory.STEP.value
_DATA_WAIT, _FORWARD = Phase.DATA_WAIT.value, Phase.FORWARD.value
_BACKWARD, _OPTIMIZER = Phase.BACKWARD.value, Phase.OPTIMIZER.value

# what comes before a forward pass and belongs to the same step
_LEADING = (_DATA_WAIT, Phase.HOST_TO_DEVICE.value)


class Pass(Enum):
    """What a forward pass is for, as far as it can be told when it begins."""

    TRAIN = auto()
    EVAL = auto()
    UNDECIDED = auto()  # without gradients, or in eval mode: what follows decides


class FinishedStep(NamedTuple):
    """A step that is over."""

    mode: str
    number: int
    start_ns: int
    end_ns: int
    micro_steps: int = 1
    optimizers: tuple[int, ...] = ()


At = tuple[str, int]  # a mode, and the number of a step in it


class Steps(CountedSteps):
    """Turns what happens in the training thread into rows of events."""

    def __init__(
        self,
        now_ns: Callable[[], int],
        emit: Callable[[EventRow], None],
        on_finished: Callable[[FinishedStep], None],
    ) -> None:
        self._now_ns = now_ns
        self._emit = emit
        self._on_finished = on_finished
        self.start_anew()

    def start_anew(self) -> None:
        """Forgets all steps, as a forked child must."""
        self.counts: dict[str, int] = {_TRAIN: 0}
        self.forced_mode: str | None = None  # said by the script
        self.optimizers_alive = 1
        self.is_explicit = False  # the script says itself where its steps end
        self._latest_ns = 0
        self._open = OpenStep()
        self._last_end_ns = 0
        self._undecided: list[list[Span]] = []
        self._awaiting: dict[int, list[Callable[[At], None]]] = {}  # by the start of a pass
        self._evaluation: tuple[int, int] | None = None
        self._profiled_by = ""
        self._previous: tuple[int, ...] = ()  # optimizers of the training step before

    @property
    def mode(self) -> str:
        """The mode that the script said, else train."""
        return self.forced_mode or _TRAIN

    @property
    def number(self) -> int:
        """The step under way, in its mode."""
        return self.counts.get(self.mode, 0)

    @property
    def latest_seconds(self) -> float:
        """How long the training step before took."""
        return self._latest_ns / NANOSECONDS

    @property
    def latest(self) -> tuple[str, int]:
        """What a script speaks of: the step under way, or the one that has just ended.

        An evaluation step is over when its pass is; a training step when its optimizer has stepped,
        and what is said between that and the first sign of the next one is said of it.
        """
        mode, number = self.mode, self.number
        if self.is_explicit or not number:
            return mode, number
        has_begun = mode == Mode.TRAIN and not self._is_between()
        return mode, number if has_begun else number - 1

    def force(self, mode: str | None) -> str | None:
        """The script says what the passes that follow are for; what it had said before."""
        self._decide(is_eval=True)
        before, self.forced_mode = self.forced_mode, mode
        return before

    def take_time_from(self, now_ns: Callable[[], int]) -> None:
        """From now on the time is what this tells."""
        self._now_ns = now_ns

    @property
    def is_plain(self) -> bool:
        """Whether nothing is under way, and nobody says what the steps are."""
        is_said = self.is_explicit or self.forced_mode is not None
        return not (is_said or self._undecided or self.optimizers_alive > 1)

    def profile(self, kind: str) -> None:
        """A profiler is at work from now on; with an empty name: no more.

        What it took to switch it on or off between two steps belongs to neither of them.
        """
        if self._is_between():
            self._last_end_ns = self._last_end_ns and self._now_ns()
        else:
            self._open.profiled_by = kind or self._profiled_by
        self._profiled_by = kind

    def resume_at(self, number: int) -> None:
        """Goes on counting training steps from a checkpoint."""
        self.counts[_TRAIN] = number

    def span(self, phase: str, start_ns: int, category: str = _PHASE) -> None:
        """A stretch that ends now."""
        self._keep((phase, category, start_ns, self._now_ns() - start_ns))

    def data_wait(self, start_ns: int, *, is_exhausted: bool) -> None:
        """A batch was waited for; the end of the data says what the passes before were."""
        self._decide(is_eval=True)
        if not is_exhausted:
            self.span(_DATA_WAIT, start_ns)

    def likely(self, kind: Pass) -> tuple[At, ...]:
        """The steps that a pass may turn out to belong to; just one where that is certain."""
        forced = self.forced_mode
        if kind is Pass.TRAIN and forced is None and not self._open.updates:
            return ((_TRAIN, self.counts[_TRAIN]),)
        is_forced = forced not in (None, _TRAIN)
        mode = forced if is_forced and forced is not None else Mode.EVAL.value
        evaluation = (mode, self.counts.get(mode, 0) + len(self._undecided))
        if is_forced or kind is Pass.EVAL or (kind is Pass.UNDECIDED and forced is not None):
            return (evaluation,)
        number = self.counts[_TRAIN]
        # what comes after an optimizer's step belongs to this step only if another one follows
        is_open = bool(self._open.updates) and not self.is_explicit
        training = tuple([(_TRAIN, number + more) for more in range(1 + is_open)])
        return training if kind is Pass.TRAIN else (evaluation, *training)

    def forward(
        self, start_ns: int, kind: Pass, on_settled: Callable[[At], None] | None = None
    ) -> None:
        """An outermost forward pass that ends now; its step is told once that is certain."""
        if on_settled is not None:
            self._awaiting[start_ns] = [on_settled]
        span = (_FORWARD, _PHASE, start_ns, self._now_ns() - start_ns)
        if kind is Pass.TRAIN and self.forced_mode in (None, _TRAIN):
            if self._undecided:
                self._decide(is_eval=False)
            self._keep(span)
            return
        leading = self._take_leading()
        if kind is Pass.EVAL or self.forced_mode is not None:
            self._decide(is_eval=True)
            self._finish_evaluation([*leading, span])
        else:
            self._undecided.append([*leading, span])
            if len(self._undecided) >= _MOST_UNDECIDED:
                self._decide(is_eval=True)

    def evaluation_loss(self) -> None:
        """A loss was computed without gradients: so the passes before were an evaluation."""
        self._decide(is_eval=True)

    def backward(self, start_ns: int) -> None:
        """A backward pass that ends now."""
        if self._undecided:
            self._decide(is_eval=False)
        self.span(_BACKWARD, start_ns)
        step = self._open
        if step.updates and step.end_ns >= start_ns:  # optimizers have stepped inside it
            step.extend_end(self._now_ns())
        else:
            step.backwards += 1

    def discard_micro_steps(self) -> None:
        """The backward passes since an optimizer stepped lead to no step."""
        self._open.backwards = 0

    def join_backwards(self, surplus: int) -> None:
        """Some of the backward passes were parts of one loss: no micro-steps of their own."""
        self._open.backwards -= surplus

    def optimizer_begins(self, optimizer: int) -> None:
        """An optimizer is about to step: if it has stepped already, another step is under way."""
        if self._undecided:
            self._decide(is_eval=False)
        if self.is_explicit or not self._open.updates:
            return
        stepped = self._open.stepped
        if optimizer in stepped:
            self._split_turns(stepped, stepped.index(optimizer))
            self._finish()
        elif self.optimizers_alive <= 1:  # the others are gone
            self._finish()

    def optimizer_made(self) -> None:
        """The script makes another optimizer: what the others did is over."""
        if self._open.updates and not self.is_explicit:
            self._finish()

    def _split_turns(self, stepped: list[int], place: int) -> None:
        """Where optimizers step several times each, one after the other, they share no step.

        Only the second step in a row shows that another optimizer has taken over.
        """
        if place and self._previous == tuple(stepped[:place]):
            self._open, rest = self._open.split(place)
            self._finish()
            self._open = rest

    def optimizer_ends(self, optimizer: int, start_ns: int, *, is_skipped: bool = False) -> None:
        """An optimizer has stepped, or was kept from it by a gradient scaler."""
        self.span(_OPTIMIZER, start_ns)
        self._open.update(optimizer, self._now_ns(), is_skipped=is_skipped)
        if self.optimizers_alive <= 1 and not self.is_explicit:
            self._finish()

    def count_backward(self, micro_steps: int) -> None:
        """The backward pass that has just ended is the last of its step so far."""
        self._open.count_backward(BY_BACKWARD, self._now_ns(), micro_steps)

    def count_no_backward(self) -> None:
        """The backward passes so far belong to a step that is counted otherwise."""
        if self._open.updates:
            self._open = self._open.without_updates()

    def discard_open(self) -> None:
        """What has been seen since the last step belongs to none."""
        for span in self._open.spans:
            self._emit_span(span, NO_STEP, _TRAIN)
        self._open = OpenStep()

    def end_step(self) -> None:
        """The script says that its step is over."""
        self._decide(is_eval=False)
        was_seen = not self.is_explicit and self.number and self._is_between()
        self.is_explicit = True
        if was_seen and self.mode == Mode.TRAIN:
            return
        self._open.mark_end(self._now_ns())
        if self.mode == _TRAIN:
            self._finish()
        else:
            self._finish_evaluation(self._open.spans)
            self._open = OpenStep()

    def close(self) -> None:
        """Nothing comes for now: what is under way and has an end is finished."""
        self._decide(is_eval=True)
        if self._open.updates:
            self._finish()
        self.discard_open()
        self._last_end_ns = 0

    def _is_between(self) -> bool:
        """Whether a training step has ended, and nothing of the next one was seen."""
        step = self._open
        return not (step.spans or step.updates or step.backwards or self._undecided)

    def _keep(self, span: Span) -> None:
        spans = self._open.spans
        if len(spans) >= _MOST_SPANS:
            place = _place_of_last(spans, span[0]) if len(spans) >= _MOST_OF_ALL else -1
            phase, category, start_ns, duration_ns = spans[place]
            if phase == span[0]:
                spans[place] = (phase, category, start_ns, duration_ns + span[3])
                if span[2] in self._awaiting:
                    more = self._awaiting.pop(span[2])
                    self._awaiting.setdefault(start_ns, []).extend(more)
                return
        spans.append(span)

    def _take_leading(self) -> list[Span]:
        """The waiting right before a pass that is not training belongs to that pass."""
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
        """An evaluation between two training steps is a phase of the later one."""
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
        start_ns = self._last_end_ns or step.beginning()
        self._settle_evaluation(step, start_ns)
        self._last_end_ns = step.end_ns
        self._latest_ns = step.end_ns - start_ns
        for one in step.spans:
            self._emit_span(one, number, _TRAIN)
        finished = FinishedStep(
            _TRAIN,
            number,
            start_ns,
            step.end_ns,
            max(1, step.micro_steps),
            tuple(step.stepped),
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


def _place_of_last(spans: list[Span], phase: str) -> int:
    """Where the last stretch of a phase is; the last of all where there is none."""
    places = range(len(spans) - 1, -1, -1)
    return next((place for place in places if spans[place][0] == phase), -1)
