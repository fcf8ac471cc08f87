"""Rounds between two recorded ones: only their ends are noted, and they are recorded in bulk.

Recording a round takes a third of a millisecond, which is most of the budget of rounds shorter than
some 60 ms. Such rounds are recorded one by one only as often as the budget allows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sonde.clock import NANOSECONDS, thread_cpu_ns
from sonde.hook.budget import COUNTED_STEP_NS
from sonde.hook.rest_schedule import RestSchedule
from sonde.hook.session import Session
from sonde.records.step import Mode

_TRAIN = Mode.TRAIN.value
_SETTLED_ROUNDS = 3  # the first rounds of a training are always recorded
# Hook time of a recorded round without an inspection: up to 0.3 ms with two evaluated data sets,
# times 1.5 for cold caches.
_RECORDED_ROUND_NS = 450_000

Column = tuple[Sequence[int], Sequence[float]]  # positions of rounds, and a value for each
Columns = Mapping[str, Mapping[str, Column]]  # by data set and metric


@dataclass(frozen=True, slots=True)
class CountedRounds:
    """Consecutive rounds, and what the library has computed in them."""

    first: int  # step
    ends_ns: Sequence[int]
    rates: Sequence[tuple[int, float]]  # changed learning rates, by position of the round
    columns: Columns


ReadColumns = Callable[[int, Sequence[tuple[int, Any]]], Columns]


class InspectionSchedule(Protocol):
    """When rounds are inspected."""

    def rounds_until_due(self) -> int:
        """Number of rounds until one is inspected regardless of the budget."""

    def rounds_counted(self, rounds: int) -> None:
        """Count rounds that were not asked for."""


class RoundCounter:
    """Notes the ends of rounds while none needs to be recorded by itself."""

    def __init__(
        self,
        session: Session,
        inspector: InspectionSchedule,
        record: Callable[[CountedRounds], None],
    ) -> None:
        self._session = session
        self._inspector = inspector
        self._record = record
        self._schedule = RestSchedule(session)
        # in chronological order: the end of a round; before it, its learning rate if that has
        # changed, and the results that its evaluations have returned
        self._notes: list[Any] = []
        self._read: ReadColumns = no_columns
        self.subject: Callable[[], object] = _nothing  # whose rounds are counted now
        self.note = self._notes.append
        session.state.add_replay(self._flush, self.forget)
        session.windows.on_request(self._schedule.end_soon)

    def counting_hook(self) -> Callable[[], None]:
        """The hook that notes the end of a round, a single function because it runs every time."""
        clock, state, schedule = self._session.clock, self._session.state, self._schedule
        monotonic_ns, note, guard = clock.monotonic_ns, self.note, self._session.guard

        def count() -> None:
            if not state.is_on:  # paused: the time until the next round belongs to none
                self.subject = _nothing
                return
            end_ns = monotonic_ns() + clock.anchor_ns
            note(end_ns)
            state.has_notes = True  # an adapter of another framework may have replayed its own
            schedule.steps_left = steps_left = schedule.steps_left - 1
            if steps_left <= 0 or end_ns >= schedule.deadline_ns:
                guard.call("notes", self._turn, None)

        return count

    def begin_if_worthwhile(
        self, rounds: int, subject: Callable[[], object], read: ReadColumns
    ) -> None:
        """Begin to count after a recorded round, if recording the next one would cost too much.

        Args:
            rounds: Rounds of this training so far.
            subject: Whose rounds to count: an object by which the adapter recognizes them.
            read: Reads the results of newly counted rounds, given their number and notes.
        """
        session, schedule = self._session, self._schedule
        step_seconds = schedule.bare_seconds(session.steps.latest_seconds)
        if rounds < _SETTLED_ROUNDS or not self._may_count(step_seconds):
            return
        due_in = self._inspector.rounds_until_due()
        due_in = min(due_in, session.windows.steps_until(session.steps.counts[_TRAIN]))
        if due_in >= 1:
            self.subject, self._read = subject, read
            schedule.begin(step_seconds, due_in)
            schedule.plan_turn()

    def _may_count(self, step_seconds: float) -> bool:
        session = self._session
        budget = session.overhead.budget
        if budget.records_every_step or step_seconds <= 0:
            return False
        use = _RECORDED_ROUND_NS / NANOSECONDS / (budget.share * step_seconds)
        return (
            use >= 1
            and session.steps.is_inferred
            and not session.settings.stop_on_non_finite
            and not session.requests.last_step.is_near
            and "notes" not in session.guard.failed
        )

    @property
    def is_counting(self) -> bool:
        """Whether rounds are only counted now."""
        return self.subject is not _nothing

    def end_last(self) -> None:
        """End the current round, which is the last one, and count no more."""
        self.note(self._session.clock.now_ns())
        self.stop()

    def stop(self) -> None:
        """Record the counted rounds, and count no more."""
        if self.is_counting or self._notes:
            self._flush()
            self.forget()
        self._session.state.set_notes(are_pending=False)

    def forget(self) -> None:
        """Drop all notes in a forked child: they belong to the parent."""
        self.subject = _nothing
        self._notes.clear()

    def _turn(self) -> None:
        """Record the counted rounds, and return to recording if the budget has room."""
        schedule, subject = self._schedule, self.subject
        self.subject = _nothing  # if recording fails
        counted_before = schedule.begin_turn()
        self._flush()
        if not schedule.is_inspection_due(counted_before):
            schedule.continue_resting(is_due=False)
            self.subject = subject

    def _flush(self) -> None:
        """Record the rounds counted so far, and continue to count."""
        began_ns = thread_cpu_ns()
        ends_ns, rates, results = self._take_notes()
        if not ends_ns:
            return
        session, count = self._session, len(ends_ns)
        first = session.steps.counts[_TRAIN]
        start_ns = session.steps.add_counted(ends_ns)
        self._inspector.rounds_counted(count)
        self._record(CountedRounds(first, ends_ns, rates, self._read(count, results)))
        flush_ns = thread_cpu_ns() - began_ns
        hook_ns = count * COUNTED_STEP_NS + flush_ns
        session.overhead.account_counted(start_ns, ends_ns[-1], hook_ns)
        self._schedule.add_counted(count, (ends_ns[-1] - start_ns) / NANOSECONDS)

    def _take_notes(self) -> tuple[list[int], list[tuple[int, float]], list[tuple[int, Any]]]:
        """Remove the notes of finished rounds: ends, and rates and results by position."""
        ends_ns: list[int] = []
        rates: list[tuple[int, float]] = []
        results: list[tuple[int, Any]] = []
        taken = 0
        for index, note in enumerate(self._notes, 1):
            if type(note) is int:
                ends_ns.append(note)
                taken = index
            elif type(note) is float:
                rates.append((len(ends_ns), note))
            else:
                results.append((len(ends_ns), note))
        del self._notes[:taken]
        done = len(ends_ns)
        return (
            ends_ns,
            [rate for rate in rates if rate[0] < done],
            [result for result in results if result[0] < done],
        )


def _nothing() -> None:
    """A reference to nothing."""


def no_columns(_count: int, _results: Sequence[tuple[int, Any]]) -> Columns:
    """Read no results: the library has computed none."""
    return {}
