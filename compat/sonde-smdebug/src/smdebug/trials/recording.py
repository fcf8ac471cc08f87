"""The job behind a trial, read through Sonde."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import sonde
from smdebug.core.collection import Collection
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.current_hook import CurrentHook
from smdebug.core.recording import COLLECTIONS, END_FILE, POINTER, TAG, is_remote
from smdebug.core.reductions import sonde_reduction
from smdebug.trials.old_recording import (
    collections_of_folder,
    import_old_recording,
    is_old_recording,
    steps_of_index,
)
from smdebug.trials.recorded_steps import RecordedStep, steps_of_hook, steps_of_job

_MAX_AGE_SECONDS = 0.5
_OF_VALUES = {("prod", True), ("median", True)}  # Sonde has no statistic for them


class Recording:
    """Reads a job; what was read is kept until the next refresh."""

    def __init__(self, job: sonde.Job, old_folder: str | None = None) -> None:
        """Read a job.

        Args:
            job: The job.
            old_folder: The folder of smdebug that was imported as this job.
        """
        self.job = job
        self._old_folder = old_folder
        self.has_ended = False
        self._forget()

    def _forget(self) -> None:
        self._read_at = time.monotonic()
        self.has_ended = self.job.state.is_over
        self.is_of_hook = len(self.job.tensors(collection=TAG)) > 0
        names = self.job.tensors(collection=TAG if self.is_of_hook else None).names
        self.names = tuple(name for name in names if name != COLLECTIONS)
        self.steps = self._read_steps()
        self._steps_of: dict[str, list[RecordedStep]] = {}
        self._with_values: dict[tuple[str, int, str], frozenset[int]] = {}
        self._reductions: dict[tuple[str, int, str, str], dict[int, float]] = {}

    def _read_steps(self) -> list[RecordedStep]:
        if self.is_of_hook:
            return steps_of_hook(self.job)
        steps = steps_of_index(self._old_folder) if self._old_folder else []
        return steps or steps_of_job(self.job)

    def refresh(self, *, is_forced: bool = True) -> None:
        """Read what was added; writes first what this process has not written yet.

        Args:
            is_forced: Otherwise, data of other processes is read at most twice a second.
        """
        if self.has_ended:
            return
        has_written = self._write_own()
        if is_forced or has_written or time.monotonic() - self._read_at > _MAX_AGE_SECONDS:
            self.job.refresh()
            self._forget()

    def _write_own(self) -> bool:
        """Write what a hook in this process has saved; returns whether there was anything."""
        hook = CurrentHook.recording()
        if hook is None or not hook.has_unwritten or sonde.current_job() != self.job.uri:
            return False
        hook.flush()
        return True

    def steps_of(self, name: str) -> list[RecordedStep]:
        """The steps at which a tensor was saved, by worker."""
        if name not in self._steps_of:
            tensor = self.job.tensor(name)
            saved = {
                (mode, rank): frozenset(tensor.steps(mode, rank))
                for mode, rank in {(step.sonde_mode, step.rank) for step in self.steps}
                if rank in tensor.workers
            }
            self._steps_of[name] = [
                step
                for step in self.steps
                if step.sonde_step in saved.get((step.sonde_mode, step.rank), ())
            ]
        return self._steps_of[name]

    def value(self, name: str, step: RecordedStep) -> Any | None:
        """The full value of a tensor; None if it was not saved."""
        tensor = self.job.tensor(name)
        key = (name, step.rank, step.sonde_mode)
        if key not in self._with_values:
            self._with_values[key] = frozenset(
                tensor.value_steps(mode=step.sonde_mode, worker=step.rank)
            )
        if step.sonde_step not in self._with_values[key]:
            return None
        return tensor.value(step.sonde_step, mode=step.sonde_mode, worker=step.rank)

    def reduction(self, name: str, step: RecordedStep, pair: tuple[str, bool]) -> Any | None:
        """A reduction of a tensor; None if it was not saved and cannot be computed."""
        value = None if pair in _OF_VALUES else self._statistic(name, step, sonde_reduction(*pair))
        if value is not None and not np.isnan(value):
            return np.float64(value)
        full = self.value(name, step)
        if full is None:
            return None if value is None else np.float64(value)
        return _computed(pair, full)

    def _statistic(self, name: str, step: RecordedStep, reduction: str) -> float | None:
        key = (name, step.rank, step.sonde_mode, reduction)
        if key not in self._reductions:
            series = self.job.tensor(name).reduction(
                reduction, mode=step.sonde_mode, worker=step.rank
            )
            self._reductions[key] = dict(series) if len(series) else {}
        return self._reductions[key].get(step.sonde_step)

    def shape(self, name: str) -> tuple[int, ...] | None:
        """The shape of a tensor when it was recorded last."""
        return tuple(self.job.tensor(name).info.shape)

    def collections(self) -> CollectionManager:
        """The collections of the hook, or of Sonde."""
        if self._old_folder and (manager := collections_of_folder(self._old_folder)):
            return manager
        if COLLECTIONS not in self.job.tensors().names:
            return self._collections_of_sonde()
        tensor = self.job.tensor(COLLECTIONS)
        _, mode, step = max(
            (each.global_step, each.sonde_mode, each.sonde_step)
            for each in self.steps_of(COLLECTIONS)
        )
        content = tensor.value(step, mode=mode)
        return CollectionManager.load_from_string(content.tobytes().decode())

    def _collections_of_sonde(self) -> CollectionManager:
        manager = CollectionManager()
        for name in self.names:
            for collection in self.job.tensor(name).info.collections:
                manager.get(collection, create=True).add_tensor_name(name)
        return manager


def find_recording(path: str) -> Recording | None:
    """The recording in a folder, or of a job; None if there is none yet."""
    pointer = Path(path, POINTER)
    if not is_remote(path) and pointer.is_file():
        path = json.loads(pointer.read_text())["uri"]
    elif is_old_recording(path):
        return Recording(import_old_recording(path), path)
    try:
        return Recording(sonde.open_job(path if "/" in path else f"./{path}"))
    except sonde.SondeError:
        pass
    try:
        jobs = sonde.list_jobs(path)
    except sonde.SondeError:
        return None
    return Recording(jobs[-1]) if jobs else None


def has_ended_without_data(path: str) -> bool:
    """Whether a folder is marked as complete, although nothing was recorded."""
    return not is_remote(path) and Path(path, END_FILE).is_file()


def requested_pairs(
    collections: dict[str, Collection], name: str, step: RecordedStep
) -> list[tuple[str, bool]]:
    """The reductions that the collections of a tensor request at a step."""
    pairs: dict[tuple[str, bool], None] = {}
    for collection in collections.values():
        config, save_config = collection.reduction_config, collection.save_config
        if config is None or not collection.holds(name):
            continue
        if save_config is None or save_config.should_save_step(step.mode, step.mode_step):
            pairs.update(dict.fromkeys(config.pairs))
    return list(pairs)


def _computed(pair: tuple[str, bool], value: Any) -> Any:
    name, is_absolute = pair
    array = np.abs(value) if is_absolute else np.asarray(value)
    if name in ("l1", "l2"):
        return np.linalg.norm(array.reshape(-1).astype(np.float64), ord=int(name[1]))
    function = {"variance": "var"}.get(name, name)
    return getattr(np, function)(array.astype(np.float64))
