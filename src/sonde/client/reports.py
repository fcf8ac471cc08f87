"""Build the report of a job."""

from sonde.bounded_cache import byte_cache
from sonde.clock import Clock, SystemClock, iso
from sonde.engine.check import check
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.report.build import Advance, Report, build_report
from sonde.results.findings import Judgement
from sonde.results.job import JobResults
from sonde.rules._selection import select_rules
from sonde.store.backends import Backend

_MAX_CACHED_BYTES = 512 << 20  # charts read the same samples and steps many times; a day: 60 MB


def report_of(
    backend: Backend,
    clock: Clock | None = None,
    advance: Advance = lambda _count: None,
    *,
    runs_rules: bool = False,
) -> Report:
    """Build the report of a job in its current state.

    Args:
        backend: The job's folder.
        clock: The source of the current time.
        advance: Called with the number of charts that have been built since the last call.
        runs_rules: Run all rules if none have recorded anything; otherwise only what is recorded
            is shown.
    """
    clock = clock or SystemClock()
    opened = OpenJob(backend, clock, byte_cache(_MAX_CACHED_BYTES))
    job = JobResults(opened)
    if runs_rules and not len(job.judgement()):
        evaluations = check(JobData(opened), select_rules())
        job = job.with_judgement(Judgement(job.name, evaluations, seen=job.seen))
    return build_report(job, iso(clock.now_ns()), advance)
