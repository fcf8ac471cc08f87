"""Run rules over a recorded job."""

from collections.abc import Sequence

from sonde.clock import Clock
from sonde.engine.executors import ExecutorKind, RuleSelection, executor_for, run_selection
from sonde.engine.garbage_collection import collect_rarely
from sonde.engine.runner import Recorder, Runner
from sonde.errors import UsageError
from sonde.read.job_data import JobData
from sonde.records.finding import Evaluation
from sonde.rules import Rule
from sonde.settings import host_name
from sonde.store.backends import Backend
from sonde.store.lease import Leasing


def check(data: JobData, rules: Sequence[Rule]) -> tuple[Evaluation, ...]:
    """Run rules over everything recorded so far, in this process; nothing is written."""
    runner = Runner(data, rules)
    runner.advance()
    return runner.evaluations


def check_selection(
    backend: Backend, selection: RuleSelection, kind: ExecutorKind
) -> tuple[Evaluation, ...]:
    """Run rules over everything recorded so far, in processes or on Ray; nothing is written."""
    rules = selection.rules()
    collect_rarely()
    return run_selection(executor_for(kind, backend), backend.uri, selection, len(rules))


def check_and_record(
    backend: Backend, rules: Sequence[Rule], clock: Clock
) -> tuple[Evaluation, ...]:
    """Run rules over what no earlier run has covered, and record what they find.

    Raises:
        UsageError: Another process is running rules on this job.
    """
    leasing = Leasing(backend, clock, host_name())
    if not leasing.is_free():
        raise UsageError(
            f"{leasing.holder} is running rules on this job. Omit --record, or try again later."
        )
    collect_rarely()
    recorder = Recorder(backend, clock, rules)
    recorder.advance()
    return recorder.runner.evaluations
