"""Counts steps while hooks rest, and records them with their losses in bulk."""

from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from sonde.clock import NANOSECONDS, thread_cpu_ns
from sonde.hook.budget import COUNTED_LOSS_NS, COUNTED_STEP_NS
from sonde.hook.counted_steps import LANE
from sonde.hook.rest_schedule import RestSchedule
from sonde.hook.session import Session
from sonde.hook.torch.loop.optimizers import Optimizers
from sonde.hook.torch.loop.resting_losses import RestingLosses
from sonde.hook.torch.loop.step_ends import ClippedNorm, StepEnds
from sonde.hook.torch.tensors.device_scalars import DeviceScalars, Term
from sonde.records.step import EventCategory, Mode, Phase

LONG_WAIT_NS = 2_000_000  # waits for data beyond this are recorded with counted steps

_TRAIN, _PHASE, _DATA_WAIT = Mode.TRAIN.value, EventCategory.PHASE.value, Phase.DATA_WAIT.value


class StepCounter:
    """Notes the end of each optimizer step, and turns notes into records."""

    __slots__ = (
        *("notes", "losses", "seen", "_on_counted", "_session", "_schedule", "_optimizers"),
        "_scalars",
        *("_is_alone", "_rates", "_latest_rate", "_ends", "_end_ns", "_flush_ns"),
    )

    def __init__(self, session: Session, schedule: RestSchedule, scalars: DeviceScalars) -> None:
        self._session = session
        self._schedule = schedule
        self._scalars = scalars
        self.seen = 0  # optimizer steps
        self.notes: list[
            Any
        ] = []  # see StepEnds; never replaced, since other objects hold this list
        self.losses = RestingLosses(session, self.notes)
        self._on_counted: list[Callable[[int], None]] = []  # called with the number of new steps
        self._rates: list[Any] = []
        self._latest_rate: object = None  # of the last parameter group
        self._ends = StepEnds()
        self._end_ns = 0
        self._flush_ns = 0  # CPU time of flushes, not yet accounted for

    def connect(self, optimizers: Optimizers) -> None:
        """Count the steps of these optimizers."""
        self._optimizers = optimizers

    def listen(self, *counted: Callable[[int], None]) -> None:
        """Register what to call with the number of newly counted steps."""
        self._on_counted += counted

    def begin(self) -> None:
        """Start counting at the end of a step."""
        numbers = self._optimizers.by_identity
        self._ends.optimizer_ends.clear()
        recipes = self.losses.recipes
        self._ends.begin(numbers, self._session.steps.latest_optimizers, recipes)
        self._is_alone = len(numbers) == 1
        self.losses.are_recorded = self.losses.are_recorded and bool(recipes)
        self.losses.begin()
        self._latest_rate = None

    def hook(self, on_turn: Callable[[], None]) -> Callable[[Optimizer, Any, Any], None]:
        """The hook after optimizer steps, a single function because it runs at every step.

        Args:
            on_turn: Called when enough steps were counted.
        """
        thread, clock = self._session.thread, self._session.clock
        monotonic_ns = clock.monotonic_ns
        note, losses, schedule = self.notes.append, self.losses, self._schedule

        def count(optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
            if get_ident() != thread.id:
                return
            end_ns = monotonic_ns() + clock.anchor_ns
            self.seen += 1
            if self._is_alone:
                rate = optimizer.param_groups[-1]["lr"]
                if rate is not self._latest_rate and losses.are_recorded:
                    self._rates_changed(optimizer)
                note(end_ns)
            else:
                note((end_ns, id(optimizer), None))
            schedule.steps_left = steps_left = schedule.steps_left - 1
            if steps_left <= 0 or end_ns >= schedule.deadline_ns:
                on_turn()

        return count

    def _rates_changed(self, optimizer: Optimizer) -> None:
        rates = [group["lr"] for group in optimizer.param_groups]
        self._latest_rate = rates[-1]
        if rates != self._rates:
            self._rates = rates
            self.notes.append(rates)

    @property
    def is_between_steps(self) -> bool:
        """Whether no step is open, judging by the optimizers of the previous step."""
        return self._ends.is_between_steps

    def flush(self) -> None:
        """Record the notes so far."""
        began_ns = thread_cpu_ns()
        self._record_notes()
        self._flush_ns += thread_cpu_ns() - began_ns

    def _record_notes(self) -> None:
        note_count = len(self.notes)
        notes = self.notes[:note_count]
        del self.notes[:note_count]
        session, first = self._session, self._session.steps.counts[_TRAIN]
        counted = self._ends.sort(notes)
        ends_ns = counted.ends_ns
        self.notes[:0] = counted.pending
        if ends_ns:
            self._add_steps(ends_ns, len(notes) - len(ends_ns))
        if counted.losses:
            positions, losses = zip(*counted.losses, strict=True)
            times_ns = map(ends_ns.__getitem__, positions)
            numbers = map(first.__add__, positions)
            session.recorder.scalars_at("loss", losses, times_ns, numbers)
        for position, recipe, values in counted.terms:
            terms = list(zip(values, recipe.weights, strict=True))
            end_ns = ends_ns[position] if position < len(ends_ns) else self._end_ns
            self._record_number(recipe.name, terms, end_ns, first + position)
        for position, extra in counted.extras:
            end_ns = ends_ns[position] if position < len(ends_ns) else self._end_ns
            self._record(first + position, extra, end_ns)
        self._scalars.send()

    def take_open_step(self) -> list[tuple[int, int]]:
        """Remove and return the optimizers of the open step with their end times."""
        stepped, self._ends.optimizer_ends = self._ends.optimizer_ends, []
        return stepped

    def discard(self) -> None:
        """Drop all notes."""
        self.notes.clear()

    def _add_steps(self, ends_ns: list[int], extra_notes: int) -> None:
        start_ns = self._session.steps.add_counted(ends_ns)
        self._end_ns = ends_ns[-1]
        count = len(ends_ns)
        for listener in self._on_counted:
            listener(count)
        flush_ns, self._flush_ns = self._flush_ns, 0
        hook_ns = count * COUNTED_STEP_NS + extra_notes * COUNTED_LOSS_NS + flush_ns
        self._session.overhead.account_counted(start_ns, ends_ns[-1], hook_ns)
        self._schedule.add_counted(count, (ends_ns[-1] - start_ns) / NANOSECONDS)

    def _record_number(
        self,
        name: str,
        terms: Sequence[Term],
        end_ns: int,
        number: int,
        transform: Callable[[float], float] = float,
    ) -> None:
        """Record a weighted sum of a step; its terms may be on a device."""
        at = (_TRAIN, number)
        if any(isinstance(value, Tensor) for value, _ in terms):
            self._scalars.record(name, terms, at, transform, end_ns)
        else:
            total = sum(weight * float(value) for value, weight in terms)
            self._session.recorder.scalar_at(name, transform(total), end_ns, at)

    def _record(self, number: int, extra: Any, end_ns: int) -> None:
        at = (_TRAIN, number)
        if type(extra) is ClippedNorm:
            terms = [(extra.norm, 1.0)]
            self._record_number("gradient_norm", terms, end_ns, number)
            self._record_number("clip_factor", terms, end_ns, number, extra.factor)
        elif type(extra) is list:
            for group, rate in enumerate(extra):
                self._session.recorder.scalar_at(f"learning_rate/{group}", rate, end_ns, at)
        else:
            start_ns, until_ns = extra
            length_ns = until_ns - start_ns
            self._session.recorder.event(
                (_DATA_WAIT, _PHASE, LANE, start_ns, length_ns, number, _TRAIN, "")
            )
