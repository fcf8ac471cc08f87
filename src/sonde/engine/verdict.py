"""The verdict of all rules on a job, in one sentence."""

from collections.abc import Sequence

from sonde.clock import Clock
from sonde.engine.runner import Judge
from sonde.read.jobs import read_job
from sonde.read.status import job_coverage
from sonde.read.training import recorded_steps
from sonde.records.finding import Evaluation, Verdict
from sonde.results.rule_verdict import closing_verdict
from sonde.store.backends import Backend


def judge_of(backend: Backend, clock: Clock) -> Judge:
    """Return a function that sums up all evaluations, given what was recorded of the job."""

    def judge(evaluations: Sequence[Evaluation], *, is_final: bool) -> Verdict:
        now_ns = clock.now_ns()
        facts = read_job(backend, now_ns)
        coverage = job_coverage(facts, recorded_steps(backend, facts), now_ns)
        return closing_verdict(evaluations, is_final=is_final, seen=coverage)

    return judge
