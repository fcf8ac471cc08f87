"""What a job answers about itself: what rules find in it."""

from abc import ABC, abstractmethod

from sonde.client.findings import Findings, Judgement
from sonde.errors import UsageError
from sonde.read.actions import read_actions
from sonde.read.findings import read_evaluations
from sonde.read.job_data import JobData
from sonde.read.status import seen_in
from sonde.read.training import steps_seen
from sonde.records.seen import Seen
from sonde.rules import Rule
from sonde.rules._parameters import build_rule
from sonde.rules._selection import select_rules
from sonde.watch.runner import Runner


class Judged(ABC):
    """The half of a job that rules have a say in."""

    @abstractmethod
    def _data(self) -> JobData:
        """All of it, for rules."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The job's name."""

    def check(self, *rules: "str | type[Rule] | Rule", **parameters: object) -> Judgement:
        """Asks rules about what is recorded; nothing is written.

        Args:
            rules: Names such as `VanishingGradient`, or rules of one's own; all that are installed
                by default.
            parameters: Of the one rule that is named, such as `threshold=1e-6`, and `setting`.
        """
        if parameters and len(rules) != 1:
            raise UsageError("Parameters belong to one rule: name it, and no other.")
        chosen: list[Rule] = [] if rules else select_rules()
        for one in rules:
            chosen += _built(one, parameters)
        runner = Runner(self._data(), chosen)
        runner.advance()
        return Judgement(self.name, runner.evaluations, seen=self.seen)

    def findings(self) -> Findings:
        """What rules found while they watched; where none did, what they find now."""
        return self.judgement().findings

    def judgement(self) -> Judgement:
        """How every rule stands: as it was recorded, or where nothing was, as of now."""
        backend = self._data().backend
        recorded = read_evaluations(backend, [])
        if not recorded:
            return self.check()
        return Judgement(self.name, recorded, read_actions(backend, []), self.seen)

    @property
    def seen(self) -> Seen:
        """What of it was seen from inside, and why not more."""
        data = self._data()
        return seen_in(data.facts, steps_seen(data.backend, data.facts), data.clock.now_ns())


def _built(rule: "str | type[Rule] | Rule", parameters: dict[str, object]) -> list[Rule]:
    if isinstance(rule, str):
        return select_rules([rule], given={rule: parameters} if parameters else None)
    if isinstance(rule, Rule):
        if parameters:
            raise UsageError(f"{rule.name()} has its parameters already: {rule!r}")
        return [rule]
    return [build_rule(rule, parameters)]
