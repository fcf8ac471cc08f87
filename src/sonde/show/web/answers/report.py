"""The report of a job, to keep."""

from collections.abc import Sequence

from sonde.clock import iso
from sonde.show.report.build import build_report
from sonde.show.web.answers._answers import Address, Answers
from sonde.show.web.question import Question
from sonde.show.web.replies import Reply, file_reply

_MEDIA_TYPE = "text/html; charset=utf-8"


class ReportAnswers(Answers):
    """`report`: one self-contained page, as the job stands now."""

    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
        return (Address("/jobs/{job}/report", _report, is_kept=False),)


def _report(question: Question) -> Reply:
    job = question.job
    with job.view() as view:
        report = build_report(view, iso(job.clock.now_ns()))
    return file_reply(report.html.encode(), f"{job.name}-report.html", _MEDIA_TYPE)
