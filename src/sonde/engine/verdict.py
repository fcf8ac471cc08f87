"""The verdict of all rules on a job, in one sentence."""

from collections.abc import Sequence

from sonde.clock import Clock
from sonde.read.open_job import OpenJob
from sonde.read.status import job_coverage
from sonde.read.training import recorded_steps
from sonde.records.finding import Evaluation, Verdict
from sonde.results.rule_verdict import closing_verdict
from sonde.store.backends import Backend


def job_verdict(
    backend: Backend, clock: Clock, evaluations: Sequence[Evaluation], *, is_final: bool
) -> Verdict:
    """Sum up the evaluations of all rules, given what was recorded of the job."""
    opened = OpenJob(backend, clock)
    coverage = job_coverage(opened.facts, recorded_steps(opened), opened.now_ns)
    return closing_verdict(evaluations, is_final=is_final, seen=coverage)
