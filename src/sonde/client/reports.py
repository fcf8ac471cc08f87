"""The report of a job, from Python."""

from typing import TYPE_CHECKING

from sonde.client.findings import Judgement
from sonde.clock import Clock, SystemClock, iso
from sonde.read.actions import read_actions
from sonde.read.findings import read_evaluations
from sonde.show.remembered import remembered
from sonde.show.report.build import Advance, Report, build_report
from sonde.store.backends import Backend

if TYPE_CHECKING:
    from sonde.client.job import Job


def report_of(
    job: "Job",
    backend: Backend | None = None,
    clock: Clock | None = None,
    advance: Advance = lambda _count: None,
) -> Report:
    """The report of a job as it stands.

    Args:
        job: The job.
        backend: Its folder, where only what rules have recorded there is to be told; without it,
            rules are asked where none have recorded anything.
        clock: What time it is.
        advance: Told how many charts more are done.
    """
    now = iso((clock or SystemClock()).now_ns())
    if backend is None:
        return build_report(remembered(job), now, advance)
    known = backend

    def recorded() -> Judgement:
        return Judgement(job.name, read_evaluations(known, []), read_actions(known, []), job.seen)

    return build_report(remembered(job, judgement=recorded), now, advance)
