"""Training steps for charts."""

from sonde.read.steps import StepTable
from sonde.results.job import JobResults


def trained_steps(job: JobResults, worker: int | None) -> list[StepTable]:
    """The training steps of every worker that has any, or of a single worker."""
    return [table for table in job.steps(worker=worker).tables if len(table.steps)]
