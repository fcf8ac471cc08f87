"""The report of a job, to keep."""

from collections.abc import Sequence

from sonde.clock import iso
from sonde.report.build import build_report
from sonde.web.answers._answers import Address, Answers
from sonde.web.query_params import Question
from sonde.web.replies import Reply, file_reply

_MEDIA_TYPE = "text/html; charset=utf-8"


class ReportAnswers(Answers):
    """`report`: one self-contained page, as the job stands now."""

    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
        return (Address("/jobs/{job}/report", _report, is_kept=False),)


def _report(question: Question) -> Reply:
    job = question.job
    with job.results() as results:
        report = build_report(results, iso(job.clock.now_ns()))
    return file_reply(report.html.encode(), f"{job.name}-report.html", _MEDIA_TYPE)
