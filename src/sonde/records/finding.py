"""What rules say: findings, the episodes they form, and how a rule stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sonde.records.seen import Seen
from sonde.records.shortfall import Shortfall


class Severity(StrEnum):
    """How much a finding matters."""

    INFO = "info"  # advice
    WARNING = "warning"  # costs time or quality
    CRITICAL = "critical"  # the result is wrong, or the job will die

    @property
    def rank(self) -> int:
        """For comparing: the higher, the worse."""
        return tuple(Severity).index(self)


class Setting(StrEnum):
    """How a rule asks its question."""

    CALIBRATED = "calibrated"  # so that noise, plateaus, warm-up and restarts do not alarm
    CLASSIC = "classic"  # the documented criterion to the letter


class RuleStatus(StrEnum):
    """Where a rule stands with a job."""

    IN_PROGRESS = "InProgress"
    ISSUES_FOUND = "IssuesFound"
    NO_ISSUES_FOUND = "NoIssuesFound"
    ERROR = "Error"
    STOPPED = "Stopped"
    NOT_APPLICABLE = "NotApplicable"  # nothing that it needs exists in this job
    NOT_ENOUGH_DATA = "NotEnoughData"  # it looked, and needs more


# The numbers and the ranges that made a rule fire, by name, for people and for charts: plain JSON.
EvidenceValue = None | bool | float | str | Sequence[float] | Sequence[str]
Evidence = Mapping[str, EvidenceValue]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule says about one window, and whom it means."""

    rule: str
    severity: Severity
    message: str
    advice: str = ""
    steps: tuple[int, int] | None = None  # the first and the last
    time_ns: tuple[int, int] | None = None
    node: str | None = None
    worker: int | None = None
    device: str | None = None
    tensor: str | None = None
    subject: str = ""  # findings of one rule about one subject form an episode
    cause: str | None = None
    is_over: bool = False  # says only that its episode has ended
    evidence: Evidence = field(default_factory=dict)

    @property
    def about(self) -> str:
        """What tells its episode from those of the same rule."""
        if self.subject:
            return self.subject
        named = (self.node, self.worker, self.device, self.tensor)
        return "/".join("" if one is None else str(one) for one in named)


@dataclass(frozen=True, slots=True)
class Episode:
    """A finding over its life: it opens, may get worse, and recovers or stays."""

    id: str
    finding: Finding  # at its worst; of equal ones the latest
    first_ns: int
    last_ns: int
    triggered: int  # in how many windows it held
    is_open: bool = True
    first_step: int | None = None
    last_step: int | None = None

    @property
    def severity(self) -> Severity:
        """The worst it has been."""
        return self.finding.severity


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How one rule stands with one job."""

    rule: str
    setting: Setting
    status: RuleStatus
    parameters: Mapping[str, object]
    description: str = ""
    recommendation: str = ""
    reason: str | None = None  # why it is not applicable, needs more, or failed
    traceback: str | None = None
    datapoints: int = 0
    triggered: int = 0
    seconds: float = 0.0  # CPU time it has cost
    episodes: tuple[Episode, ...] = ()
    summary: Evidence = field(default_factory=dict)  # what it measured, whether it fired or not
    explains: tuple[str, ...] = ()  # rules whose findings are consequences of its own
    told: tuple[str, ...] = ()  # in the store: the ids of the episodes that stand
    missing: tuple[str, ...] = ()  # kinds of data that it needs and has none of: `Losses`, `Steps`
    shortfall: Shortfall | None = None  # how much data it lacks, where that can be counted


@dataclass(frozen=True, slots=True)
class Evaluations:
    """How all rules stand with one job."""

    rules: tuple[Evaluation, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """All findings of a job together, short enough for its last words."""

    sentence: str
    findings: int = 0
    worst: Severity | None = None
    first: tuple[Episode, ...] = ()  # of the findings: causes before consequences, the worst first
    is_final: bool = False  # the job is over, and everything in it was looked at
    seen: Seen | None = None  # what of the job was seen from inside
