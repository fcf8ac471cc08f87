"""The saved progress of each rule, from which it continues after a restart."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sonde.errors import DamagedError, KeyMissingError
from sonde.records.finding import Episode
from sonde.records.renamed import renamed
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.layout import rules_key

PROGRESS = rules_key("progress")


@dataclass(frozen=True, slots=True)
class RuleProgress:
    """The progress of one rule in a job."""

    rule: str
    # setting and parameters: if they change, the rule starts over
    configuration: str = renamed("asked")
    attempt: int = renamed("leg", default=0)
    index: int = 0  # of the next window
    resume_ns: int | None = None  # earlier data is not needed anymore
    state: str = "{}"  # JSON; may be large, decoded only by its rule
    datapoints: int = 0
    triggered: int = 0
    seconds: float = 0.0
    traceback: str | None = None
    reason: str | None = None
    episodes: tuple[Episode, ...] = ()
    quiet: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of all rules."""

    rules: tuple[RuleProgress, ...] = ()

    def of(self, rule: str, configuration: str) -> RuleProgress:
        """The progress of a rule; empty if its setting or parameters have changed."""
        for progress in self.rules:
            if (progress.rule, progress.configuration) == (rule, configuration):
                return progress
        return RuleProgress(rule, configuration)


def load_progress(backend: Backend) -> Progress:
    """Load the progress of all rules; empty if there is none."""
    try:
        return decode_facts(Progress, backend.read(PROGRESS), PROGRESS)
    except (KeyMissingError, DamagedError):
        return Progress()


def save_progress(backend: Backend, progress: Progress) -> None:
    """Save the progress of all rules."""
    backend.write(PROGRESS, encode_facts(progress, PROGRESS))
