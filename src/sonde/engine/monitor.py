"""Run rules on a live job: record findings, fire actions, keep the report current."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from sonde.clock import Clock, process_cpu_seconds
from sonde.engine.action_plan import plan_actions
from sonde.engine.dispatch import Dispatch
from sonde.engine.garbage_collection import collect_rarely
from sonde.engine.live import Subscriber, Watcher
from sonde.engine.report_refresh import ReportRefresh
from sonde.engine.rule_progress import MAX_SECONDS_PER_WINDOW
from sonde.engine.runner import Recorder
from sonde.engine.time_limits import cpu_time_limit
from sonde.errors import JobExistsError, StoreError
from sonde.guard import Guard
from sonde.read.documents import read_document
from sonde.records.finding import Episode
from sonde.records.job import Attempt
from sonde.rules import Rule
from sonde.settings import RunSettings, host_name
from sonde.side_process import SideProcess, sonde_command
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.lease import Leasing
from sonde.store.removal import remove_remains

_LAST_ACTIONS_SECONDS = 5.0
_limit = partial(cpu_time_limit, MAX_SECONDS_PER_WINDOW)


@dataclass(frozen=True, slots=True)
class MonitorOptions:
    """What a caller decides about monitoring a job."""

    settings: RunSettings = field(default_factory=RunSettings)
    actions: Sequence[str] = ()  # for the findings of all rules, in addition to the settings
    attempt: str | None = None  # NODE/NUMBER: stop when this attempt ends
    has_report: bool = True  # whether the report is rewritten while the job runs
    before_end: Callable[[], object] = bool  # called when the attempt has ended, before rules end


def monitor(backend: Backend, clock: Clock, rules: Sequence[Rule], options: MonitorOptions) -> None:
    """Run rules on a job until it ends; only one process at a time monitors a job.

    Raises:
        JobExistsError: Another process monitors this job.
    """
    attempt = _Attempt(backend, options.attempt, options.before_end)
    leasing = Leasing(backend, clock, attempt.node or host_name())
    dispatch = _dispatch(backend, clock, rules, options, attempt.folder)
    refresh = _report_refresh(backend, clock)
    subscribers: list[Subscriber] = [] if dispatch.is_idle else [dispatch.take]
    if options.settings.report_at_end and options.has_report:
        subscribers.append(refresh.take)
    watcher = Watcher(
        backend,
        clock,
        leasing,
        lambda: Recorder(backend, clock, rules, _limit),
        partial(_publish, subscribers),
    )
    collect_rarely()
    was_monitored = watcher.watch(attempt.is_over, process_cpu_seconds)
    refresh.close()
    dispatch.close(_LAST_ACTIONS_SECONDS)
    Guard().attempt("files of a removed job", lambda: remove_remains(backend), default=False)
    if not was_monitored and options.attempt is None:
        raise JobExistsError(f"{leasing.holder} already monitors this job.")


def _dispatch(
    backend: Backend, clock: Clock, rules: Sequence[Rule], options: MonitorOptions, folder: Path
) -> Dispatch:
    actions = options.settings.actions.with_requested(options.actions)
    plan = plan_actions(replace(options.settings, actions=actions), rules, folder)
    return Dispatch(backend, clock, plan)


def _publish(subscribers: Sequence[Subscriber], changed: Sequence[Episode]) -> None:
    for subscriber in subscribers:
        subscriber(changed)


def _report_refresh(backend: Backend, clock: Clock) -> ReportRefresh:
    process = SideProcess(sonde_command("report", backend.uri, "--refresh"), clock)
    return ReportRefresh(process, backend, clock)


class _Attempt:
    """The attempt that this monitor was started for, if any."""

    def __init__(self, backend: Backend, name: str | None, on_end: Callable[[], object]) -> None:
        self._backend = backend
        self._on_end = on_end
        self._has_ended = False
        self._exit_key: str | None = None
        self.folder = Path.cwd()
        self.node = ""
        if name is not None:
            self.node, _, number = name.rpartition("/")
            self._exit_key = layout.attempt_key(self.node, int(number), "exit")
            start_key = layout.attempt_key(self.node, int(number), "start")
            attempt = read_document(Attempt, backend, start_key, [])
            self.folder = Path(attempt.folder) if attempt else self.folder

    def is_over(self) -> bool:
        """Whether it has ended."""
        if self._exit_key is None or self._has_ended:
            return self._has_ended
        try:
            self._has_ended = self._backend.exists(self._exit_key)
        except StoreError:
            return False
        if self._has_ended:
            Guard().attempt("the end of the attempt", self._on_end, None)
        return self._has_ended
