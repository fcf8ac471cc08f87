"""How far each rule has come, and what it remembers: enough to go on after a restart."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sonde.errors import DamagedError, KeyMissingError
from sonde.records.finding import Episode
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.layout import rules_key

PROGRESS = rules_key("progress")


@dataclass(frozen=True, slots=True)
class RuleProgress:
    """One rule's place in a job."""

    rule: str
    asked: str  # setting and parameters: another question begins anew
    leg: int = 0
    index: int = 0  # of the next window
    resume_ns: int | None = None  # what lies before is not needed any more
    state: str = "{}"  # as JSON: it may be large, and is opened only by its rule
    datapoints: int = 0
    triggered: int = 0
    seconds: float = 0.0
    traceback: str | None = None
    reason: str | None = None
    episodes: tuple[Episode, ...] = ()
    quiet: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """The places of all rules."""

    rules: tuple[RuleProgress, ...] = ()

    def of(self, rule: str, asked: str) -> RuleProgress:
        """Where a rule stands; at the beginning, if it has never asked this."""
        for one in self.rules:
            if (one.rule, one.asked) == (rule, asked):
                return one
        return RuleProgress(rule, asked)


def load_progress(backend: Backend) -> Progress:
    """Where the rules stood; at the beginning where that is not known."""
    try:
        return decode_facts(Progress, backend.read(PROGRESS), PROGRESS)
    except (KeyMissingError, DamagedError):
        return Progress()


def save_progress(backend: Backend, progress: Progress) -> None:
    """Keeps where the rules stand."""
    backend.write(PROGRESS, encode_facts(progress, PROGRESS))
