"""The steps that charts of training are drawn from."""

from sonde.read.steps import StepTable
from sonde.results.job import JobResults


def trained_steps(job: JobResults, worker: int | None) -> list[StepTable]:
    """The training steps of each worker that has any, or of one."""
    return [one for one in job.steps(worker=worker).tables if len(one.steps)]
