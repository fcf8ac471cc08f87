"""A job that answers every question once: many charts ask the same."""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

from sonde.show.job_view import JobView


class _Remembered:
    """Stands in for a job; what it answered stays as it was."""

    def __init__(self, job: JobView, **answers: Callable[..., Any]) -> None:
        self._job = job
        vars(self).update({name: cache(answer) for name, answer in answers.items()})

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._job, name)
        answer = cache(found) if callable(found) else found
        vars(self)[name] = answer
        return answer


def remembered(job: JobView, **answers: Callable[..., Any]) -> JobView:
    """The job, as it stands now; some methods may be answered otherwise."""
    return cast("JobView", _Remembered(job, **answers))
