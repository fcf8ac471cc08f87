"""Deferred hooks: buffer the events of steps that need no inspection and replay them in batches.

Python code that runs right after a framework operation has cold caches and takes several times
longer than in a batch. So in a plain loop, hooks only append short notes, which are replayed
together before the next inspected step.
"""

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from sonde.clock import NANOSECONDS
from sonde.hook.budget import NOTE_NS
from sonde.hook.inspections import Inspections
from sonde.hook.session import Session
from sonde.hook.torch.data.loader_iterations import Feeds
from sonde.hook.torch.loop.deferral_policy import DeferralPolicy
from sonde.hook.torch.loop.resting import Rest
from sonde.hook.torch.patching.hidden_operations import hidden_from_modes
from sonde.hook.torch.tensors.graph_inputs import inputs_in_graph

DATA_WAIT, FORWARD, EVALUATION, LOSS, BACKWARD, OPTIMIZER, RATES, FINGERPRINTS = range(8)
Note = tuple[int, int, int, Any, Any]  # kind, start, end, and two values that depend on the kind
ReadNote = Callable[[Note], None]

TensorReferences = list[tuple[Any, "weakref.ref[Tensor]"]]  # by position or name

# called with whether the pass trains, and its arguments
OnPass = Callable[[bool, tuple[Any, ...], dict[str, Any]], None]
OnBadLoss = Callable[[TensorReferences], None]  # called with the inputs
TakeFingerprints = Callable[[], list[Any]]

_MAX_NOTES = 1024
_MAX_DELAY_NS = NANOSECONDS  # until notes are visible to readers


class DeferredPass:
    """The pass whose events are buffered; written by the forward and backward hooks."""

    __slots__ = (
        *("depth", "outermost", "start_ns", "is_evaluating", "is_in_backward"),
        *("inner_losses", "inputs", "on_begin", "_on_bad_loss"),
    )

    def __init__(self) -> None:
        self.on_begin: OnPass = _ignore_pass
        self._on_bad_loss: list[OnBadLoss] = []
        self.outermost = 0  # identity of the outermost module
        self.start_ns = 0
        self.is_evaluating = False
        self.reset()

    def reset(self) -> None:
        """Reset to the state without an open pass."""
        self.depth = 0  # of nested module calls
        self.is_in_backward = False
        self.inner_losses: list[tuple[str, float]] = []  # computed inside the pass
        self.inputs: TensorReferences = []  # until the backward pass begins

    def listen(self, *, begins: OnPass | None = None, bad_loss: OnBadLoss | None = None) -> None:
        """Register listeners; only one for the beginning, which is called at every pass."""
        if begins is not None:
            assert self.on_begin is _ignore_pass
            self.on_begin = begins
        if bad_loss is not None:
            self._on_bad_loss.append(bad_loss)

    def report_bad_loss(self) -> None:
        """Report the inputs of a loss that is not finite or cannot be read."""
        for listener in self._on_bad_loss:
            listener(self.inputs)

    def report_bad_graph(self, root: Tensor) -> list[Tensor]:
        """Report the inputs found in the graph of a loss, if no hook has run in its pass."""
        inputs = inputs_in_graph(root)
        self.inputs = references(enumerate(inputs))
        self.report_bad_loss()
        return inputs


class DeferredUpdate:
    """The optimizer whose steps are buffered; written by the optimizer hooks."""

    __slots__ = ("fingerprints", "number", "optimizer", "rates", "start_ns")

    def __init__(self) -> None:
        self.optimizer = 0  # identity: the optimizer itself may be deleted meanwhile
        self.number = 0
        self.start_ns = 0  # of the open step, if it is deferred
        self.rates: list[object] = []
        # fingerprints of replicas at every step; None with a single worker
        self.fingerprints: TakeFingerprints | None = None

    def set_fingerprints(self, take: TakeFingerprints | None) -> None:
        """Set what takes fingerprints of replicas before every deferred step; None: nothing."""
        self.fingerprints = take


class DeferredHooks:
    """Buffers notes while enabled and replays them."""

    __slots__ = (
        *(
            "is_on",
            "notes",
            "thread_id",
            "may_defer_evaluation",
            "current",
            "update",
            "feeds",
            "_readers",
        ),
        *("rest", "policy", "_steps_left", "_deadline_ns", "_replayed_ns", "_session"),
    )

    def __init__(
        self,
        session: Session,
        steps_until_due: Callable[[float], int],
        inspections: Inspections,
        rest: Rest,
    ) -> None:
        self._session = session
        self.is_on = False
        self.notes: list[Note] = []
        self.thread_id = 0
        self.may_defer_evaluation = False  # evaluation passes may be deferred
        self.current = DeferredPass()
        self.update = DeferredUpdate()
        self.feeds = Feeds()
        self._readers: dict[int, ReadNote] = {}  # replay notes, by kind
        self.rest = rest
        self.policy = DeferralPolicy(session, steps_until_due, inspections)
        self._steps_left = self._deadline_ns = self._replayed_ns = 0
        rest.listen(begins=self._reset, evaluates=self.defer_evaluation)
        rest.losses.listen(
            session.guard.shield(
                "inputs of losses", hidden_from_modes(self.current.report_bad_graph), None
            )
        )
        rest.counter.listen(self.feeds.count_training, inspections.steps_counted)
        session.state.add_replay(self.catch_up, self.forget)
        session.windows.on_request(self.end_soon, rest.schedule.end_soon)

    def on_note(self, kind: int, read: ReadNote) -> None:
        """Register the function that replays the notes of a kind."""
        self._readers[kind] = read

    def forget(self) -> None:
        """Drop all notes in a forked child: they belong to the parent."""
        self.is_on, self.current.depth, self.update.start_ns = False, 0, 0
        self.notes = []
        self.rest.forget()

    def _reset(self) -> None:
        """Close everything that is open, since no hook will run for a while."""
        self.is_on, self.update.start_ns = False, 0
        self.current.reset()

    def end_soon(self) -> None:
        """Make the current step the last deferred one; may be called by any thread."""
        self._steps_left = 0

    def ends_with(self, kind: int) -> bool:
        """Whether the latest note is of that kind."""
        return bool(self.notes) and self.notes[-1][0] == kind

    def note(self, note: Note) -> None:
        """Add a note of something that began while deferral was on; it may have ended since."""
        self.notes.append(note)
        if not self.is_on or len(self.notes) > _MAX_NOTES or note[2] >= self._deadline_ns:
            self._replay_and_continue()

    def _replay_and_continue(self) -> None:
        """Replay notes between optimizer steps, as needed in long evaluations."""
        is_on = self.is_on
        self._session.guard.call("notes", self.catch_up, None)
        if is_on and "notes" not in self._session.guard.failed:
            self._deadline_ns = self._session.clock.now_ns() + _MAX_DELAY_NS
            self.is_on = True
            self._session.state.set_notes(are_pending=True)

    def after_step(self, end_ns: int) -> None:
        """Decide after an optimizer step whether to defer the next step as well."""
        self._steps_left -= 1
        if not self.is_on:  # deferral has ended within the step
            self._session.guard.call("notes", self.catch_up, None)
        elif self._steps_left <= 0 or end_ns >= self._deadline_ns:
            self.is_on = False

    def after_inspected_step(self, optimizer: Optimizer, number: int, is_plain: bool) -> None:
        """Start deferral or a rest after an inspected step, if either is possible.

        Args:
            optimizer: The optimizer that has stepped.
            number: Its number.
            is_plain: Whether steps may be deferred.
        """
        if not self._begin_rest(is_plain) and is_plain:
            self._begin(optimizer, number)

    def _begin_rest(self, is_plain: bool) -> bool:
        rest, policy, steps = self.rest, self.policy, self._session.steps
        step_seconds = rest.schedule.bare_seconds(steps.latest_seconds)
        if not rest.is_allowed or self.update.fingerprints is not None:
            return False
        if not policy.is_rest_worthwhile(step_seconds, is_plain=is_plain):
            return False
        if not policy.may_skip_inspection() or not steps.finish_repeated():
            return False
        due_in = policy.resting_steps()
        if due_in < 1:
            return False
        rest.begin(step_seconds, due_in)
        return True

    def _begin(self, optimizer: Optimizer, number: int) -> None:
        step_seconds = self._session.steps.latest_seconds
        rates = [group.get("lr") for group in optimizer.param_groups]
        is_plain = all(type(rate) is float for rate in rates)
        is_plain = is_plain and self.policy.may_defer
        if not is_plain or step_seconds <= 0 or not self.policy.may_skip_inspection():
            return
        count = self.policy.deferred_steps(step_seconds)
        if count < 1:
            return
        update = self.update
        update.optimizer, update.number, update.rates = id(optimizer), number, rates
        self._begin_notes(count)

    def defer_evaluation(self) -> None:
        """Defer an evaluation that interrupts a rest, unless it must be inspected."""
        self.update.optimizer = 0  # the next optimizer step ends deferral
        self._begin_notes(0)
        if not self.may_defer_evaluation:
            self.is_on = False
            self._session.state.set_notes(are_pending=False)

    def _begin_notes(self, count: int) -> None:
        session, current = self._session, self.current
        self.thread_id = session.thread.id
        current.depth, current.is_in_backward, current.is_evaluating = 0, False, False
        current.inner_losses = []
        self.may_defer_evaluation = self.policy.may_defer_evaluations(count)
        self._steps_left = count
        self._deadline_ns = session.clock.now_ns() + _MAX_DELAY_NS
        self.is_on = True
        session.state.set_notes(are_pending=True)

    def catch_up(self) -> None:
        """End deferral or rest, and replay all notes at their recorded times."""
        session = self._session
        if session.state.is_resting:
            self.rest.end()
        self.is_on = False
        session.state.set_notes(are_pending=False)
        notes, self.notes = self.notes, []
        if not notes:
            return
        session.overhead.charge(NOTE_NS * len(notes))
        session.recorder.set_time_source(self._replay_time)
        try:
            for note in notes:
                self._replayed_ns = note[2]
                self._readers[note[0]](note)
        finally:
            session.recorder.set_time_source(None)
        self.rest.settle()

    def _replay_time(self) -> int:
        return self._replayed_ns


def _ignore_pass(_is_training: bool, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
    """Default of `DeferredPass.on_begin`."""


def references(values: Iterable[tuple[Any, Any]]) -> TensorReferences:
    """Weak references to the tensors among the values."""
    return [(name, weakref.ref(value)) for name, value in values if isinstance(value, Tensor)]
