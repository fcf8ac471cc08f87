"""Documents of the dashboard's HTTP interface as plain JSON values.

The dashboard's TypeScript types are generated from these classes (`make ui-types`).
"""

from typing import Any, TypedDict

from sonde.records.documents import FindingDocument, JobStatusDocument
from sonde.records.finding import Severity


class NodeDocument(TypedDict):
    """A node and its devices."""

    name: str
    cores: int
    gpus: list[str]
    has_gpu: bool


class WorkerDocument(TypedDict):
    """A worker with the node and device of its last attempt."""

    rank: int
    node: str | None
    device: str | None


class FindingsDocument(TypedDict):
    """The findings of a job: causes before consequences, then by severity."""

    findings: list[FindingDocument]
    counts: dict[str, int]  # by severity
    worst: Severity | None
    sentence: str | None


class ControlsDocument(TypedDict):
    """The requests that are possible now."""

    stop: bool
    set: bool
    profile: bool
    delete: bool


class ProfilerDocument(TypedDict):
    """A kind of profile that the dashboard can request."""

    kind: str
    title: str
    runs_by_default: bool


class JobDocument(JobStatusDocument):
    """The document of `sonde status --json`, with additions for the dashboard."""

    now: float
    t0: float
    t1: float
    verdict: str
    not_seen: str
    findings: FindingsDocument
    interval_seconds: float | None
    is_monitoring: bool
    nodes: list[NodeDocument]
    workers: list[WorkerDocument]
    has: dict[str, bool]
    controls: ControlsDocument
    profilers: list[ProfilerDocument]
    coverage: dict[str, Any]


class FigureDocument(TypedDict):
    """A figure of the headline."""

    name: str
    title: str
    value: str | float | None
    unit: str
    note: str
    tone: str
    finding: str | None
    curve: list[float | None]


class RemedyDocument(TypedDict):
    """A change that makes the job faster, with its predicted gain, and as code."""

    text: str
    code: str


class HeadlineDocument(TypedDict):
    """The headline of a job, and the charts that matter most for it."""

    figures: list[FigureDocument]
    charts: list[str]
    illustrations: dict[str, list[str]]  # the charts of each rule with findings
    metrics: dict[str, list[str]]  # the system metrics that these rules look at
    remedies: dict[str, list[RemedyDocument]]  # by the id of the finding


class MetricDocument(TypedDict):
    """A metric of a node."""

    metric: str
    unit: str
    help: str
    devices: list[str]
    has_whole: bool
