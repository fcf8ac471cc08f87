"""Findings of rules, the episodes they form, and the status of each rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sonde.records.advice import Advice, Improvement
from sonde.records.renamed import renamed
from sonde.records.seen import Seen
from sonde.records.shortfall import Shortfall


class Severity(StrEnum):
    """How serious a finding is."""

    INFO = "info"  # advice
    WARNING = "warning"  # costs time or quality
    CRITICAL = "critical"  # the result is wrong, or the job will die

    @property
    def rank(self) -> int:
        """A number for comparisons: higher is worse."""
        return tuple(Severity).index(self)


class Setting(StrEnum):
    """Which thresholds a rule applies."""

    CALIBRATED = "calibrated"  # ignores noise, plateaus, warm-up and restarts
    CLASSIC = "classic"  # applies the documented criterion literally


class RuleStatus(StrEnum):
    """The status of a rule for one job."""

    IN_PROGRESS = "InProgress"
    ISSUES_FOUND = "IssuesFound"
    NO_ISSUES_FOUND = "NoIssuesFound"
    ERROR = "Error"
    STOPPED = "Stopped"
    NOT_APPLICABLE = "NotApplicable"  # the job has none of the data it needs
    NOT_ENOUGH_DATA = "NotEnoughData"  # it ran, but needs more data


# The numbers and ranges behind a finding, by name, as plain JSON values.
EvidenceValue = None | bool | float | str | Sequence[float] | Sequence[str]
Evidence = Mapping[str, EvidenceValue]


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem that a rule found in one window, and what it concerns."""

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
    is_over: bool = False  # only marks the end of its episode
    evidence: Evidence = field(default_factory=dict)
    improvement: Improvement | None = None  # remedies with predicted speed-ups

    @property
    def about(self) -> str:
        """The identity of its episode among those of the same rule."""
        if self.subject:
            return self.subject
        named = (self.node, self.worker, self.device, self.tensor)
        return "/".join("" if name is None else str(name) for name in named)


@dataclass(frozen=True, slots=True)
class Episode:
    """A finding over time: it opens, may get worse, and is resolved or stays open."""

    id: str
    finding: Finding  # the worst one; the latest of equally bad ones
    first_ns: int
    last_ns: int
    triggered: int  # number of windows with this finding
    is_open: bool = True
    first_step: int | None = None
    last_step: int | None = None

    @property
    def severity(self) -> Severity:
        """The highest severity so far."""
        return self.finding.severity


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The status and the findings of one rule for one job."""

    rule: str
    setting: Setting
    status: RuleStatus
    parameters: Mapping[str, object]
    description: str = ""
    recommendation: str = ""
    reason: str | None = None  # why it is not applicable, lacks data, or failed
    traceback: str | None = None
    datapoints: int = 0
    triggered: int = 0
    seconds: float = 0.0  # CPU time used
    episodes: tuple[Episode, ...] = ()
    summary: Evidence = field(default_factory=dict)  # what it measured, with or without findings
    explains: tuple[str, ...] = ()  # rules whose findings this rule's findings cause
    episode_ids: tuple[str, ...] = renamed("told", default=())  # only in the store
    missing: tuple[str, ...] = ()  # kinds of data it needs and the job lacks, such as `Losses`
    shortfall: Shortfall | None = None  # how much data it lacks, if countable


@dataclass(frozen=True, slots=True)
class Evaluations:
    """The evaluations of all rules for one job."""

    rules: tuple[Evaluation, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """A summary of all findings of a job."""

    sentence: str
    findings: int = 0
    worst: Severity | None = None
    first: tuple[Episode, ...] = ()  # the top findings: causes before consequences, worst first
    is_final: bool = False  # the job is over and all of its data was evaluated
    seen: Seen | None = None  # what was recorded inside the job's processes
    advice: Advice | None = None  # what would make the job faster
