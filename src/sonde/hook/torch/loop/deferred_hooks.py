"""Quiet steps: between two steps that are watched closely, only times and losses are noted.

Whatever Python does right after a framework's own work finds cold caches and costs several times
what it costs in a row. So in a plain loop the hooks leave notes, a few words each, and all notes
are gone through together: at the next step that is watched closely, a moment later.
"""

import weakref
from collections.abc import Callable, Iterable
from math import ceil
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from sonde.clock import NANOSECONDS
from sonde.hook.budget import NOTE_NS
from sonde.hook.inspections import Inspections
from sonde.hook.session import Session
from sonde.hook.torch.data.loader_iterations import Feeds
from sonde.hook.torch.loop.resting import Rest
from sonde.hook.torch.patching.hidden_operations import hidden_from_modes
from sonde.hook.torch.tensors.graph_inputs import inputs_in_graph
from sonde.records.step import Mode

DATA_WAIT, FORWARD, EVALUATION, LOSS, BACKWARD, OPTIMIZER, RATES, FINGERPRINTS = range(8)
Note = tuple[int, int, int, Any, Any]  # what, from when to when, and two things it came with

TensorReferences = list[tuple[Any, "weakref.ref[Tensor]"]]  # by place or name

_MAX_STEPS = 128
_MAX_NOTES = 1024
_MAX_DELAY_NS = NANOSECONDS  # readers do not wait longer
_INSPECTION_INTERVAL_SECONDS = 0.5  # of which a step that is watched closely costs about 0.2 %
_DEFERRED_STEP_NS = 80_000  # what a quiet step costs, with going through its notes
_MIN_BUDGET_USE = 1.0  # times the budget: what steps that are noted would cost
_MAX_LOOKAHEAD_STEPS = 256  # steps among which one is looked for that is asked for
_SETTLED_STEPS = 3  # a loop is watched closely until it has shown what it does
_is_cuda_in_use: Callable[[], bool] = torch.cuda.is_initialized


class Quiet:
    """Whether the hooks leave notes now, and the notes."""

    __slots__ = (
        *("is_on", "notes", "depth", "is_evaluating", "may_evaluate", "forward_ns", "optimizer"),
        *("number", "optimizer_ns", "rates", "thread_id", "is_in_backward", "most_steps"),
        *(
            "readers",
            "inner",
            "inputs",
            "on_bad",
            "outermost",
            "peek",
            "vetoes",
            "is_exact",
            "fingerprints",
            "_left",
            "_deadline_ns",
            "_session",
            "rest",
        ),
        *("_looks", "_moment_ns", "_steps_until_due", "feeds"),
    )

    def __init__(
        self,
        session: Session,
        steps_until_due: Callable[[float], int],
        inspections: Inspections,
        rest: Rest,
    ) -> None:
        self.is_on = False
        self.notes: list[Note] = []
        self.depth = 0  # of the forward pass that is under way and noted
        self.is_evaluating = False  # the latest pass was one of an evaluation
        self.inner: list[tuple[str, float]] = []  # losses inside the pass that is under way
        self.inputs: TensorReferences = []  # of the latest pass, until its backward pass begins
        self.on_bad: list[Callable[[TensorReferences], None]] = []  # told them, if its loss is bad
        # sees what a pass is given: whether it trains, and its arguments
        self.peek: Callable[[bool, tuple[Any, ...], dict[str, Any]], None] = _ignore_pass
        # nobody asked for anything of evaluation steps; what evaluations are given
        self.may_evaluate, self.feeds = False, Feeds()
        self.outermost = 0  # the module of that pass, by its identity
        # the optimizer that may be noted, by its identity: it may be gone by then
        self.forward_ns = self.optimizer = self.number = 0
        self.optimizer_ns = 0  # when it began to step, if that was noted
        self.rates: list[object] = []
        self.thread_id = 0
        self.is_in_backward = False
        self.most_steps = _MAX_STEPS
        # whether a step is one that somebody compares between workers
        self.is_exact: Callable[[int], bool] = lambda _step: False
        # what all workers note of their models at every step; None where there is one worker
        self.fingerprints: Callable[[], list[Any]] | None = None
        # who wants to see every step just now
        self.vetoes: list[Callable[[], bool]] = [lambda: session.requests.last_step.is_near]
        # who goes through the notes of a kind, as if told at once
        self.readers: dict[int, Callable[[Note], None]] = {}
        self._left = self._deadline_ns = self._moment_ns = 0
        self._session = session
        self._steps_until_due = steps_until_due
        self._looks = inspections
        self.rest = rest
        self._listen_to_rest()
        session.state.defer_to(self.catch_up, self.forget)
        session.windows.on_request(self.end_soon, rest.end_soon)

    def _listen_to_rest(self) -> None:
        rest, shield = self.rest, self._session.guard.shield
        rest.on_begin.append(self._start_over)
        rest.on_evaluation = self.evaluate
        rest.on_bad_loss = shield("inputs of losses", hidden_from_modes(self._tell_bad_graph), None)
        rest.on_counted += [self.feeds.trained, self._looks.steps_counted]

    def forget(self) -> None:
        """In a forked child, what was noted is the parent's."""
        self.is_on, self.depth, self.optimizer_ns = False, 0, 0
        self.notes = []
        self.rest.forget()

    def _start_over(self) -> None:
        """No hook may be called for a while: nothing is under way when they return."""
        self.is_on, self.depth, self.is_in_backward, self.optimizer_ns = False, 0, False, 0
        self.inner, self.inputs = [], []

    def end_soon(self) -> None:
        """The step under way is the last quiet one; said by any thread."""
        self._left = 0

    def tell_bad(self) -> None:
        """The loss of the step under way is no number, or cannot be looked at."""
        for tell in self.on_bad:
            tell(self.inputs)

    def _tell_bad_graph(self, root: Tensor) -> list[Tensor]:
        """The loss of a step that no hook has seen is out of range: report what went into it."""
        inputs = inputs_in_graph(root)
        self.inputs = references(enumerate(inputs))
        self.tell_bad()
        return inputs

    def ends_with(self, kind: int) -> bool:
        """Whether the latest note is of that kind."""
        return bool(self.notes) and self.notes[-1][0] == kind

    def note(self, note: Note) -> None:
        """Something that began while notes were taken; they may have been read meanwhile."""
        self.notes.append(note)
        if not self.is_on or len(self.notes) > _MAX_NOTES or note[2] >= self._deadline_ns:
            self._breathe()

    def _breathe(self) -> None:
        """A loop without optimizer steps, such as an evaluation, has no other time for it."""
        is_on = self.is_on
        self._session.guard.call("notes", self.catch_up, None)
        if is_on and "notes" not in self._session.guard.failed:
            self._deadline_ns = self._session.clock.now_ns() + _MAX_DELAY_NS
            self.is_on = True
            self._session.state.set_notes(are_pending=True)

    def step_over(self, end_ns: int) -> None:
        """An optimizer has stepped; whether the next step is quiet, too."""
        self._left -= 1
        if not self.is_on:  # something inside of the step has ended the quiet
            self._session.guard.call("notes", self.catch_up, None)
        elif self._left <= 0 or end_ns >= self._deadline_ns:
            self.is_on = False

    def may_leave(self) -> bool:
        """Whether the next steps need not be watched closely, as far as others want them."""
        session = self._session
        return (
            session.steps.counts["train"] >= _SETTLED_STEPS
            and not session.settings.stop_on_non_finite
            and not _is_cuda_in_use()
            and not any(veto() for veto in self.vetoes)
            and "notes" not in session.guard.failed
        )

    def leave(self, optimizer: Optimizer, number: int, is_plain: bool, backwards: int) -> None:
        """After a step that was watched closely: quiet steps, or a rest, if either may follow.

        Args:
            optimizer: The one that has stepped.
            number: Its number.
            is_plain: Whether quiet steps may follow.
            backwards: Backward passes of the step.
        """
        if not self._begin_rest(is_plain, backwards) and is_plain:
            self._begin(optimizer, number)

    def _begin_rest(self, is_plain: bool, backwards: int) -> bool:
        session, rest, steps = self._session, self.rest, self._session.steps
        step_seconds = rest.step_seconds(steps.latest_seconds)
        may_rest = rest.is_allowed and self.most_steps and self.fingerprints is None
        if not may_rest or step_seconds <= 0 or not steps.is_inferred:
            return False
        if session.overhead.budget.records_every_step:
            return False
        budget = session.overhead.budget
        cost = _DEFERRED_STEP_NS / NANOSECONDS / (budget.share * step_seconds) if is_plain else 0.0
        if max(cost, 0.0 if is_plain else budget.inspection_share(step_seconds)) < _MIN_BUDGET_USE:
            return False
        if not self.may_leave() or not steps.finish_repeated():
            return False
        due_in = session.windows.steps_until(steps.counts["train"])
        if session.plan.has_requests_for(Mode.TRAIN):
            due_in = min(due_in, self._until_asked_for(_MAX_LOOKAHEAD_STEPS))
        if session.plan.has_inspections:
            due_in = min(due_in, self._looks.steps_until_early())
        if due_in < 1:
            return False
        rest.begin(step_seconds, due_in, keeps_losses=backwards == 1)
        return True

    def _begin(self, optimizer: Optimizer, number: int) -> None:
        session, step_seconds = self._session, self._session.steps.latest_seconds
        rates = [group.get("lr") for group in optimizer.param_groups]
        is_plain = all(type(rate) is float for rate in rates)
        if not is_plain or step_seconds <= 0 or not self.may_leave():
            return
        count = min(self.most_steps, ceil(_INSPECTION_INTERVAL_SECONDS / step_seconds) - 1)
        count = min(count, session.windows.steps_until(session.steps.counts["train"]))
        count = min(count, self._until_asked_for(count), self._steps_until_due(step_seconds))
        if session.plan.has_inspections:
            count = min(count, self._looks.steps_until_early())
        if count < 1:
            return
        self.optimizer, self.number, self.rates = id(optimizer), number, rates
        self._begin_notes(count)

    def evaluate(self) -> None:
        """An evaluation interrupts a rest: notes are enough, unless it is to be watched closely."""
        self.optimizer = 0  # the optimizer step that follows ends the notes
        self._begin_notes(0)
        if not self.may_evaluate:
            self.is_on = False
            self._session.state.set_notes(are_pending=False)

    def _begin_notes(self, count: int) -> None:
        session = self._session
        self.thread_id = session.thread.id
        self.depth, self.is_in_backward, self.is_evaluating = 0, False, False
        self.inner = []
        is_looked_at = (
            session.plan.evaluations_are_needed and self._looks.evaluations.is_due_within(count)
        )
        self.may_evaluate = not (is_looked_at or session.plan.has_requests_for(Mode.EVAL))
        self._left = count
        self._deadline_ns = session.clock.now_ns() + _MAX_DELAY_NS
        self.is_on = True
        session.state.set_notes(are_pending=True)

    def _until_asked_for(self, max_steps: int) -> int:
        """Steps until the next one at which somebody wants something exactly then."""
        session, first = self._session, self._session.steps.number
        for count in range(max_steps):
            number = first + count
            if session.plan.due_exactly(Mode.TRAIN, number) or self.is_exact(number):
                return count
        return max_steps

    def catch_up(self) -> None:
        """Goes through all notes, at the times at which they were made."""
        session = self._session
        if session.state.is_resting:
            self.rest.end()
        self.is_on = False
        session.state.set_notes(are_pending=False)
        notes, self.notes = self.notes, []
        if not notes:
            return
        session.overhead.charge(NOTE_NS * len(notes))
        session.recorder.take_time_from(self._moment)
        try:
            for note in notes:
                self._moment_ns = note[2]
                self.readers[note[0]](note)
        finally:
            session.recorder.take_time_from(None)
        self.rest.settle()

    def _moment(self) -> int:
        return self._moment_ns


def _ignore_pass(_is_training: bool, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
    """Nobody wants to see it."""


def references(values: Iterable[tuple[Any, Any]]) -> TensorReferences:
    """The tensors among them, which are not kept alive by that."""
    return [(name, weakref.ref(value)) for name, value in values if isinstance(value, Tensor)]
