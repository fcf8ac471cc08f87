"""The steps of a job, as the old library counts them."""

from collections.abc import Iterable
from dataclasses import dataclass

import sonde
from smdebug.core.modes import ModeKeys
from smdebug.core.recording import GLOBAL_STEP, MODE, MODE_STEP
from smdebug.core.worker_identity import worker_name

_MODES = {"train": ModeKeys.TRAIN, "eval": ModeKeys.EVAL, "predict": ModeKeys.PREDICT}


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
    """The steps of a job without a hook, numbered in the order of their beginning."""
    table = job.steps(None).to_arrow()
    columns = (table[name].to_pylist() for name in ("time", "mode", "step", "worker"))
    rows = sorted(zip(*columns, strict=True))
    numbers: dict[tuple[str, int], int] = {}
    for _, mode, step, _ in rows:
        numbers.setdefault((mode, step), len(numbers))
    return _in_order(
        RecordedStep(int(rank), numbers[mode, step], _MODES[mode], step, mode, step)
        for _, mode, step, rank in rows
    )


def _in_order(steps: Iterable[RecordedStep]) -> list[RecordedStep]:
    return sorted(steps, key=lambda step: (step.global_step, step.rank))
