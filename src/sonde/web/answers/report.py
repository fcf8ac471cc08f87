"""The report of a job as a download."""

from collections.abc import Sequence

from sonde.clock import iso
from sonde.report.build import build_report
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.query_params import Query
from sonde.web.replies import Reply, file_reply

_MEDIA_TYPE = "text/html; charset=utf-8"


class ReportEndpoints(EndpointGroup):
    """`report`: the current state of the job as one self-contained page."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/report", _report, is_cached=False),)


def _report(query: Query) -> Reply:
    job = query.job
    with job.results() as results:
        report = build_report(results, iso(job.clock.now_ns()))
    return file_reply(report.html.encode(), f"{job.name}-report.html", _MEDIA_TYPE)
