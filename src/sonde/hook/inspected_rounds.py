"""Which rounds of a training to inspect, where a library reports a round as a whole."""

import sys

from sonde.hook.inspections import Inspections
from sonde.hook.session import Session
from sonde.records.step import Mode

_TRAIN = Mode.TRAIN.value
_MAX_LOOKAHEAD_ROUNDS = 256  # for requests, which are checked round by round


class InspectedRounds:
    """Decides which rounds to inspect: as the budget allows, or as the user requests."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.inspections = Inspections(session)

    def is_due(self) -> bool:
        """Whether to inspect the current round."""
        step = self.session.steps.counts[_TRAIN]
        is_requested = bool(self.session.plan.due_exactly(Mode.TRAIN, step))
        return self.inspections.is_due() or is_requested

    def rounds_until_due(self) -> int:
        """Number of rounds until one is inspected regardless of the budget, up to a limit."""
        plan, count = self.session.plan, sys.maxsize
        if plan.has_inspections:
            count = self.inspections.steps_until_early()
        if plan.has_requests_for(Mode.TRAIN):
            count = min(count, _MAX_LOOKAHEAD_ROUNDS)
            first = self.session.steps.counts[_TRAIN]
            requested = (
                ahead for ahead in range(count) if plan.due_exactly(Mode.TRAIN, first + ahead)
            )
            count = next(requested, count)
        return count

    def rounds_counted(self, rounds: int) -> None:
        """Count rounds for which `is_due` was never called."""
        self.inspections.steps_counted(rounds)
