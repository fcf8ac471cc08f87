"""What lists of jobs show of a job, small enough to be stored beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A curve of a few points."""

    label: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of a job, when it ran, and why it ended."""

    state: str
    start_time: str | None = None
    end_time: str | None = None
    seconds: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """What was started, where, and from which commit."""

    command: str = ""
    script: str = ""  # the path of the program, without its options
    nodes: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    workers: int = 0
    branch: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class JobSummary:
    """The summary of a job; that of a running job has no metrics and no curve."""

    outcome: Outcome
    launch: LaunchFacts = LaunchFacts()
    findings: Mapping[str, int] = field(default_factory=dict)  # by severity, the most severe first
    rules: tuple[str, ...] = ()  # those with findings
    verdict: str | None = None  # of the rules, if there are findings
    steps: Mapping[str, int] = field(default_factory=dict)
    step_seconds: float | None = None  # the median training step of the first worker
    metrics: Mapping[str, float] = field(default_factory=dict)  # the last value of each
    spark: Sparkline | None = None
    is_complete: bool = False  # whether metrics and curve were read
    fingerprint: str = ""  # of the files that can change the summary of a finished job


@dataclass(frozen=True, slots=True)
class Annotations:
    """What users note about a job."""

    tags: tuple[str, ...] = ()
    group: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ListedJob:
    """A job in a list."""

    name: str
    summary: JobSummary
    annotations: Annotations = Annotations()
