"""Switch refreshing of trials off or on in a block."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from smdebug.trials.trial import Trial


@contextmanager
def no_refresh(trials: Trial | Iterable[Trial]) -> Iterator[None]:
    """Do not refresh these trials in the block."""
    with _refreshing(trials, is_on=False):
        yield


@contextmanager
def refresh(trials: Trial | Iterable[Trial]) -> Iterator[None]:
    """Refresh these trials at each query in the block."""
    with _refreshing(trials, is_on=True):
        yield


@contextmanager
def _refreshing(trials: Trial | Iterable[Trial], *, is_on: bool) -> Iterator[None]:
    selected = [trials] if isinstance(trials, Trial) else list(trials)
    before = [trial.dynamic_refresh for trial in selected]
    for trial in selected:
        trial.dynamic_refresh = is_on
    try:
        yield
    finally:
        for trial, setting in zip(selected, before, strict=True):
            trial.dynamic_refresh = setting
