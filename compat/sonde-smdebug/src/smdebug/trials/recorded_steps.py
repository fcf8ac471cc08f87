"""The steps of a job, as the old library counts them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import sonde
from smdebug.core.modes import ModeKeys
from smdebug.core.recording import GLOBAL_STEP, MODE, MODE_STEP
from smdebug.core.worker_identity import worker_name

_MODES = {"train": ModeKeys.TRAIN, "eval": ModeKeys.EVAL, "predict": ModeKeys.PREDICT}

_Row = tuple[datetime, str, int, int]  # time, mode, step and rank


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A step of one worker."""

    rank: int
    global_step: int
    mode: ModeKeys
    mode_step: int
    sonde_mode: str
    sonde_step: int

    @property
    def worker(self) -> str:
        """The name of the worker."""
        return worker_name(self.rank)

    def has_mode(self, mode: ModeKeys) -> bool:
        """Whether the step belongs to a mode; all of them are global."""
        return mode in (ModeKeys.GLOBAL, self.mode)

    def number(self, mode: ModeKeys) -> int:
        """The number of the step in a mode."""
        return self.global_step if mode == ModeKeys.GLOBAL else self.mode_step


def steps_of_hook(job: sonde.Job) -> list[RecordedStep]:
    """The steps that a hook has recorded, in order."""
    table = job.scalars("smdebug/*").to_arrow()
    columns = (table[name].to_pylist() for name in ("worker", "mode", "step", "name", "value"))
    numbers: dict[tuple[int, str, int], dict[str, int]] = {}
    for rank, mode, step, name, value in zip(*columns, strict=True):
        numbers.setdefault((int(rank), mode, step), {})[name] = int(value)
    return _in_order(
        RecordedStep(
            rank, values[GLOBAL_STEP], ModeKeys(values[MODE]), values[MODE_STEP], mode, step
        )
        for (rank, mode, step), values in numbers.items()
        if len(values) == 3
    )


def steps_of_job(job: sonde.Job) -> list[RecordedStep]:
    """The steps of a job without a hook.

    Global steps are numbered in the order of their beginning; in a job with a single mode, they
    are the steps of that mode.
    """
    rows = sorted(_times_of_steps(job) or _times_of_tensors(job))
    modes = {mode for _, mode, _, _ in rows}
    numbers: dict[tuple[str, int], int] = {}
    for _, mode, step, _ in rows:
        numbers.setdefault((mode, step), step if len(modes) == 1 else len(numbers))
    return _in_order(
        RecordedStep(rank, numbers[mode, step], _MODES[mode], step, mode, step)
        for mode, step, rank in dict.fromkeys((mode, step, rank) for _, mode, step, rank in rows)
    )


def _times_of_steps(job: sonde.Job) -> list[_Row]:
    table = job.steps(None).to_arrow()
    columns = (table[name].to_pylist() for name in ("time", "mode", "step", "worker"))
    return list(zip(*columns, strict=True))


def _times_of_tensors(job: sonde.Job) -> list[_Row]:
    """When each step was saved, in imported jobs, which have no times of steps."""
    rows: list[_Row] = []
    for name in job.tensors():
        for mode in _MODES:
            table = job.tensor(name).reduction("min", mode=mode).to_arrow()
            columns = (table[column].to_pylist() for column in ("time", "step", "worker"))
            rows += [(time, mode, step, rank) for time, step, rank in zip(*columns, strict=True)]
    return rows


def _in_order(steps: Iterable[RecordedStep]) -> list[RecordedStep]:
    return sorted(steps, key=lambda step: (step.global_step, step.rank))
