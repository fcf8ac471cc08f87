"""The parts of a job's status as plain JSON values, as in `sonde status --json`.

The dashboard's TypeScript types are generated from these classes (`make ui-types`). An enum in
`Annotated` names the possible values of a text; a number is the length of a list.
"""

from typing import Annotated, Any, NotRequired, TypedDict

from sonde.records.finding import RuleStatus, Setting, Severity
from sonde.records.job import ExitReason, JobState
from sonde.records.notice import NoticeKind
from sonde.records.seen import Seen


class ActionDocument(TypedDict):
    """An action taken on a finding."""

    action: str
    status: str
    time: str
    message: str
    attempts: int


class FindingLocation(TypedDict):
    """When and where a finding occurred."""

    step: Annotated[list[int], 2] | None  # first and last
    time: Annotated[list[str], 2]  # first and last
    node: str | None
    worker: int | None
    device: str | None
    tensor: str | None


class FindingDocument(FindingLocation):
    """A finding with its actions."""

    id: str
    rule: str
    message: str
    severity: Annotated[str, Severity]
    advice: str | None
    cause: str | None  # the id of another finding
    triggered: int
    is_open: bool
    outcome: str
    evidence: dict[str, Any]
    improvement: dict[str, Any] | None  # see `Improvement` in sonde.records.advice
    actions: list[ActionDocument]


class RuleDocument(TypedDict):
    """A rule's evaluation with its findings."""

    rule: str
    status: Annotated[str, RuleStatus]
    setting: Annotated[str, Setting]
    triggered: int
    datapoints: int
    parameters: dict[str, Any]
    description: str
    recommendation: str
    reason: str | None
    traceback: str | None
    seconds: float
    summary: dict[str, Any]
    missing: list[str]
    shortfall: dict[str, Any] | None
    findings: list[FindingDocument]


class FailingLineDocument(TypedDict):
    """The innermost frame of the user's code in a traceback."""

    file: str
    line: int
    function: str
    code: str
    row: int  # its line in the traceback, from 0


class OutputTailDocument(TypedDict):
    """The last lines of stdout and stderr; empty if they went to a terminal or a pipe."""

    stdout: list[str]
    stderr: list[str]


class ExitDocument(TypedDict):
    """How a job or an attempt ended."""

    code: int | None
    signal: str | None
    reason: Annotated[str, ExitReason]
    message: str | None
    traceback: str | None
    failed_at: FailingLineDocument | None
    worker: int | None
    left_running: list[str]


class RunDocument(TypedDict):
    """An attempt on one node: its command and environment."""

    node: str
    attempt: int
    state: Annotated[str, JobState]
    exit: ExitDocument | None
    start_time: str
    command: list[str]
    folder: str
    pid: int | None
    interval_seconds: float
    price_per_gpu_hour: float | None
    git: dict[str, Any]
    versions: dict[str, str]
    machine: dict[str, str]
    packages: dict[str, str]
    environment: dict[str, str]


class LifeDocument(TypedDict):
    """A training process."""

    worker: int
    node: str
    attempt: int
    restart: int
    pid: int
    start_time: str
    world_size: int
    device: str | None
    framework: str | None
    versions: dict[str, str]
    steps: dict[str, int]
    is_over: bool
    failure: str | None


class OverheadDocument(TypedDict):
    """Sonde's overhead in a job."""

    percent: float | None
    hook_percent: float | None
    launcher_percent: float | None
    cpu_seconds: float
    bytes_written: int


class StageDocument(TypedDict):
    """A stage of a job; times are those of the training loop."""

    seconds: float
    percent: float
    start_time: NotRequired[str | None]
    end_time: NotRequired[str | None]


class StepDurationsDocument(TypedDict):
    """The durations of the steps of one mode, in seconds."""

    mean: float
    p50: float
    p95: float
    maximum: float


class PhasesDocument(TypedDict):
    """The steps of one mode and the share of each phase."""

    steps: int
    profiled: int
    seconds: StepDurationsDocument
    percent: dict[str, float]


class LossDocument(TypedDict):
    """The last value of a loss."""

    step: int
    value: float


class ProfileDocument(TypedDict):
    """A profiled window of all workers."""

    kind: str
    first_step: int
    last_step: int
    by: str
    workers: int
    cost_seconds: float


class NoticeDocument(TypedDict):
    """An event of the recording, such as a changed setting."""

    time: str
    kind: Annotated[str, NoticeKind]
    what: str
    text: str


class LostDocument(TypedDict("_LostRange", {"from": str | None, "to": str | None})):
    """Data that is missing or damaged."""

    what: str
    reason: str
    file: NotRequired[str | None]


class NotCollectedDocument(TypedDict):
    """Data that could not be collected."""

    what: str
    reason: str


class OpenWindowDocument(TypedDict):
    """A profiling window that is open in a worker."""

    worker: int
    kind: str
    first_step: int
    last_step: int | None
    since: str
    by: str


class TrainingDocument(TypedDict):
    """What a job trained, by mode."""

    stages: dict[str, StageDocument] | None
    steps: dict[str, int]
    phases: dict[str, PhasesDocument]
    losses: dict[str, LossDocument]
    evaluations: list[dict[str, Any]]
    profiles: list[ProfileDocument]


class RecordingDocument(TypedDict):
    """What is missing in a recording, and events of the recording."""

    lost: list[LostDocument]
    not_collected: list[NotCollectedDocument]
    notices: list[NoticeDocument]


class JobStatusDocument(TrainingDocument, RecordingDocument):
    """The status of a job without its nodes and workers."""

    job: str
    state: Annotated[str, JobState]
    attempts: int
    exit: ExitDocument | None
    exit_code: int | None
    output_tail: OutputTailDocument
    start_time: str | None
    end_time: str | None
    duration_seconds: float | None
    seen: Annotated[dict[str, Any], Seen]
    profiling: list[OpenWindowDocument]
    overhead: OverheadDocument | None
    rules: list[RuleDocument]
    runs: list[RunDocument]
    lives: list[LifeDocument]


class StatusDocument(JobStatusDocument):
    """The status of a job, as printed by `sonde status --json`."""

    nodes: list[str]
    workers: int


class SettingDifferenceDocument(TypedDict):
    """A setting that is not the same in all compared runs."""

    section: str
    name: str
    values: list[str | None]  # by run


class PhaseDifferenceDocument(TypedDict):
    """The mean time of a phase in a run and in the baseline."""

    job: str
    phase: str
    baseline_seconds: float
    seconds: float
    change_seconds: float
    bound_seconds: float | None  # half the width of the 95% interval
    is_significant: bool


class DivergenceDocument(TypedDict):
    """The first difference of a run from the baseline, in the values that both recorded."""

    job: str
    is_equal: bool
    sentence: str
    step: int | None  # None if the runs are equal
    name: str | None  # a scalar or tensor
    statistic: str | None  # of the tensor
    last_equal_step: int | None


class ComparisonDocument(TypedDict):
    """What differs between runs; the first one is the baseline."""

    jobs: list[str]
    sentences: list[str]
    differences: list[SettingDifferenceDocument]
    step_time: list[PhaseDifferenceDocument]
    divergences: list[DivergenceDocument]
