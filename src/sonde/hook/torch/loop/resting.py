"""Rest: between two inspections of a loop of small steps, the hooks are removed.

A step of half a millisecond leaves no room for hooks at every call: 1% of it is 5 µs. So while
nothing is due, no module has a hook, replaced functions call the original immediately, and only the
ends of steps are noted, with their losses if that is affordable. Notes become records in bulk. The
hooks return when the overhead budget has room for the next inspection.
"""

from collections.abc import Callable
from typing import Any, Protocol

from torch.optim import Optimizer

from sonde.clock import thread_cpu_ns
from sonde.hook.budget import COLD
from sonde.hook.rest_schedule import RestSchedule
from sonde.hook.session import Session
from sonde.hook.steps import StepId
from sonde.hook.torch.loop.inspection_cost import InspectionCost
from sonde.hook.torch.loop.losses import Losses
from sonde.hook.torch.loop.optimizers import Optimizers
from sonde.hook.torch.loop.step_counter import StepCounter
from sonde.hook.torch.tensors.device_scalars import DeviceScalars
from sonde.records.step import Mode

_TRAIN = Mode.TRAIN.value
_BAD_NUMBER_PAUSE_STEPS = 100  # training often continues with numbers that are not finite


class Removable(Protocol):
    """Hooks or replaced functions that can be removed temporarily."""

    def take_out(self) -> None:
        """Remove everything."""

    def put_back(self) -> None:
        """Restore what was removed."""


class Rest:
    """Removes the hooks, counts steps meanwhile, and restores the hooks."""

    __slots__ = (
        *("is_allowed", "schedule", "counter", "losses"),
        *("_removable", "_on_begin", "_on_evaluation"),
        *("_session", "_cost", "_is_interrupted", "_has_evaluated", "_is_requested"),
        "_bad_step",
    )

    def __init__(self, session: Session, scalars: DeviceScalars, *removable: Removable) -> None:
        self._session = session
        self.schedule = RestSchedule(session)
        self.counter = StepCounter(session, self.schedule, scalars)
        self.losses = self.counter.losses
        self._removable: list[Removable] = [*removable]  # removed while hooks rest
        self.is_allowed = True  # False once something is compiled
        self._on_begin: Callable[[], None] = _do_nothing
        self._on_evaluation: Callable[[], None] = _do_nothing
        self._cost = InspectionCost(session)
        self._has_evaluated = False  # since the hooks returned
        self._is_interrupted = False  # by an evaluation
        self._is_requested = False  # evaluations cost too much
        self._bad_step = -_BAD_NUMBER_PAUSE_STEPS  # the latest step that ended a rest
        session.state.set_flush(self.flush)
        session.listeners.on_step("rest", self._after_step)
        session.listeners.on_non_finite(self._after_bad_number)

    def connect(self, optimizers: Optimizers, losses: Losses, kinds: set[str]) -> None:
        """Count the steps of these optimizers, and wake up for unusual losses.

        Args:
            optimizers: The optimizers of the script.
            losses: Defines the range of losses.
            kinds: The operations that produced losses so far.
        """
        self.counter.connect(optimizers)
        self.losses.connect(losses, kinds)

    def listen(self, *, begins: Callable[[], None], evaluates: Callable[[], None]) -> None:
        """Set what to call when a rest begins, and when an evaluation interrupts it."""
        self._on_begin, self._on_evaluation = begins, evaluates

    def add_removable(self, removable: Removable) -> None:
        """Add hooks to remove during a rest."""
        self._removable.append(removable)

    def begin(self, step_seconds: float, due_in: int) -> None:
        """Remove the hooks after a training step.

        Args:
            step_seconds: How long steps take.
            due_in: Steps until something is due regardless of cost.
        """
        self.schedule.begin(step_seconds, due_in)
        if self._is_interrupted:
            self._is_interrupted = False
            self._session.overhead.budget.charge_interruption(
                self._session.overhead.budget.latest_inspection_seconds
            )
        self.losses.are_recorded = self.schedule.may_record_losses()
        self.schedule.plan_turn()
        self._take_out()

    def begin_outside(self) -> None:
        """Remove the hooks until an optimizer steps: calls outside training cost too much."""
        self.losses.are_recorded = False
        self.schedule.begin_outside()
        self._take_out()

    def counting_hook(self) -> Callable[[Optimizer, Any, Any], None]:
        """The hook that counts optimizer steps while the other hooks rest."""
        return self.counter.hook(self._guarded_turn)

    def evaluates(self) -> None:
        """Wake up for an evaluation, unless evaluations have cost too much before."""
        session = self._session
        if session.thread.is_current() and not session.overhead.budget.is_overdrawn:
            began_ns = thread_cpu_ns()
            session.state.catch_up()
            self._is_interrupted = True
            self._on_evaluation()
            session.overhead.charge(int(COLD * (thread_cpu_ns() - began_ns)))

    def _take_out(self) -> None:
        self.counter.begin()
        self._on_begin()
        for removable in self._removable:
            removable.take_out()
        self._cost.hooks_leave(has_evaluated=self._has_evaluated)
        self._is_requested = self._has_evaluated = False
        self._session.state.begin_rest()

    def _put_back(self) -> None:
        for removable in self._removable:
            removable.put_back()

    def _guarded_turn(self) -> None:
        self._session.guard.call("notes", self._turn, None)

    def _turn(self) -> None:
        """Record the counted steps, and return to inspection if the budget has room."""
        schedule = self.schedule
        counted_before = schedule.begin_turn()
        self.flush()
        is_due = schedule.is_inspection_due(counted_before)
        if is_due and self.counter.is_between_steps:
            self._session.state.catch_up()
        else:
            losses = self.losses
            losses.are_recorded = losses.are_recorded and schedule.may_record_losses()
            schedule.continue_resting(is_due=is_due)

    def flush(self) -> None:
        """Record the notes so far and continue resting."""
        self._cost.settle()
        self.counter.flush()

    def end(self) -> None:
        """Restore the hooks and record the notes."""
        session = self._session
        session.state.end_rest()
        self.flush()
        self._cost.hooks_return()
        self._put_back()
        self.counter.discard()
        session.overhead.account(session.clock.now_ns(), session.clock.now_ns())
        session.steps.add_optimizer_steps(self.counter.take_open_step())

    def forget(self) -> None:
        """Restore the hooks and drop the notes in a forked child: they belong to the parent."""
        self._session.state.abandon_rest()
        self._put_back()
        self.counter.discard()
        self.counter.take_open_step()

    def give_up(self) -> None:
        """Keep the hooks in place from now on."""
        self.is_allowed = False
        if self._session.state.is_resting:
            self._session.state.catch_up()

    def _after_step(self, step: Any) -> None:
        """Request a rest after an evaluation step if evaluations cost too much."""
        self._has_evaluated = self._has_evaluated or step.mode != _TRAIN
        if step.mode != _TRAIN and self.is_allowed and self._session.overhead.budget.is_overdrawn:
            self._is_requested = True
            if self._session.recorder.is_live:
                self.settle()

    def _after_bad_number(self, _name: str, _value: float, at: StepId) -> None:
        """Wake up for a number of a device that is not finite; may run in the worker thread."""
        step = at[1]
        if step > self._bad_step + _BAD_NUMBER_PAUSE_STEPS:
            self._bad_step = step
            self.schedule.end_soon()

    def settle(self) -> None:
        """Start a requested rest."""
        if not self._is_requested or self._session.state.is_resting:
            return
        if self._session.steps.finish_repeated():
            self.begin_outside()


def _do_nothing() -> None:
    """Default of the listeners of `Rest`."""
