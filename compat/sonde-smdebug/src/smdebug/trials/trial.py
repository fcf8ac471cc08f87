"""A trial: the tensors of one training run."""

import os
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

from smdebug.core.collection import Collection, CollectionKeys
from smdebug.core.modes import ModeKeys
from smdebug.core.tensor import StepState, Tensor
from smdebug.core.warnings_once import warn_once
from smdebug.core.worker_identity import worker_name
from smdebug.exceptions import (
    MissingCollectionFiles,
    NoMoreData,
    SMDebugValueError,
    StepUnavailable,
    TensorUnavailable,
)
from smdebug.trials.recorded_steps import RecordedStep
from smdebug.trials.recording import (
    Recording,
    find_recording,
    has_ended_without_data,
    requested_pairs,
)

_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 60.0  # for a recording that has not begun

Range = tuple[int | None, int | None]


class Trial:
    """Tensors of a training run by name, and its steps by mode."""

    def __init__(
        self, path: str, name: str | None = None, range_steps: Range | None = None
    ) -> None:
        self.path = os.fspath(path)
        self.name = name or self.path.rstrip("/").rpartition("/")[2]
        self.range_steps = _checked_range(range_steps)
        self.dynamic_refresh = True
        self.recording = self._wait_for_recording()
        self._tensors: dict[str, Tensor] = {}

    def _wait_for_recording(self) -> Recording:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            recording = find_recording(self.path)
            if recording is not None:
                recording.refresh()
                return recording
            if has_ended_without_data(self.path) or time.monotonic() > deadline:
                raise MissingCollectionFiles(self.path)
            warn_once(f"no recording in {self.path} yet; waiting for up to a minute")
            time.sleep(_POLL_SECONDS)

    # -- data

    def refresh_data(self) -> None:
        """Read what was added since the last refresh."""
        self.recording.refresh()

    def refresh_if_due(self) -> None:
        """Refresh, unless that is switched off."""
        if self.dynamic_refresh:
            self.recording.refresh(is_forced=False)

    @property
    def loaded_all_steps(self) -> bool:
        """Whether the training is over, so that nothing is added."""
        return self.recording.has_ended

    @property
    def last_complete_step(self) -> int:
        """The last global step that all workers have saved; -1 if there is none."""
        return max(self.steps(), default=-1)

    def is_in_range(self, step: RecordedStep) -> bool:
        """Whether a step is in the range that the trial is restricted to."""
        first, end = self.range_steps
        return (first is None or step.global_step >= first) and (
            end is None or step.global_step < end
        )

    def _steps(self, mode: ModeKeys) -> list[RecordedStep]:
        self.refresh_if_due()
        return [
            step for step in self.recording.steps if step.has_mode(mode) and self.is_in_range(step)
        ]

    # -- tensors

    def tensor_names(
        self,
        *,
        step: int | None = None,
        mode: ModeKeys = ModeKeys.GLOBAL,
        regex: str | Iterable[str] | None = None,
        collection: str | Collection | None = None,
    ) -> list[str]:
        """The names of saved tensors, sorted.

        Args:
            step: Only those saved at this step.
            mode: Only those saved in this mode, which also counts the steps.
            regex: Only those whose names contain a match of it, or of one of several.
            collection: Only those of a collection.
        """
        if regex is not None and collection is not None:
            raise ValueError("Pass either regex or collection, not both")
        self.refresh_if_due()
        names = [name for name in self.recording.names if self._is_saved(name, step, mode)]
        if regex is not None:
            patterns = [regex] if isinstance(regex, str) else list(regex)
            names = [name for name in names if any(re.search(each, name) for each in patterns)]
        if collection is not None:
            members = self._members(collection)
            names = [name for name in names if members is not None and members.holds(name)]
        return sorted(names)

    def _is_saved(self, name: str, step: int | None, mode: ModeKeys) -> bool:
        return any(
            each.has_mode(mode) and self.is_in_range(each) and step in (None, each.number(mode))
            for each in self.recording.steps_of(name)
        )

    def _members(self, collection: str | Collection) -> Collection | None:
        name = collection if isinstance(collection, str) else collection.name
        known = self.collections().get(name)
        if known is None:
            warn_once(f"there is no collection {name!r} in {self.path}")
            return collection if isinstance(collection, Collection) else None
        return known

    def tensor(self, tname: str) -> Tensor:
        """The tensor of that name.

        Raises:
            TensorUnavailable: It was not saved.
        """
        if not self.has_tensor(tname):
            raise TensorUnavailable(tname)
        return self._tensors.setdefault(tname, Tensor(tname, self))

    def has_tensor(self, tname: str) -> bool:
        """Whether a tensor was saved so far."""
        if tname not in self.recording.names and self.dynamic_refresh:
            self.refresh_data()
        return tname in self.recording.names

    def inputs(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> list[str]:
        """The tensors of the collection `inputs` at a step."""
        return self.tensor_names(step=step, mode=mode, collection=CollectionKeys.INPUTS)

    def labels(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> list[str]:
        """The tensors of the collection `labels` at a step."""
        return self.tensor_names(step=step, mode=mode, collection=CollectionKeys.LABELS)

    def predictions(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> list[str]:
        """The tensors of the collection `predictions` at a step."""
        return self.tensor_names(step=step, mode=mode, collection=CollectionKeys.PREDICTIONS)

    def collections(self) -> dict[str, Collection]:
        """All collections by name."""
        self.refresh_if_due()
        return self.recording.collections().get_collections()

    def collection(self, coll_name: str) -> Collection | None:
        """The collection of that name; None if there is none."""
        return self.collections().get(coll_name)

    def requested_reductions(self, name: str, step: RecordedStep) -> list[tuple[str, bool]]:
        """The reductions that the collections of a tensor request at a step."""
        return requested_pairs(self.collections(), name, step)

    # -- steps

    def steps(self, mode: ModeKeys | None = None, show_incomplete_steps: bool = False) -> list[int]:
        """The saved steps of a mode; by default, all global steps.

        Args:
            mode: The mode that counts the steps.
            show_incomplete_steps: Include steps that not all workers have saved yet.
        """
        mode = mode or ModeKeys.GLOBAL
        steps = self._steps(mode)
        if not show_incomplete_steps and not self.loaded_all_steps:
            last = _last_complete(steps, self._num_workers())
            steps = [step for step in steps if step.global_step <= last]
        return sorted({step.number(mode) for step in steps})

    def _num_workers(self) -> int:
        return self.recording.collections().get_num_workers()

    def modes(self) -> list[ModeKeys]:
        """The modes of the saved steps."""
        return list(dict.fromkeys(step.mode for step in self._steps(ModeKeys.GLOBAL)))

    def mode(self, global_step: int) -> ModeKeys | None:
        """The mode of a global step; None if it was not saved."""
        return self.mode_modestep(global_step)[0]

    def mode_step(self, global_step: int) -> int | None:
        """The number of a global step in its mode; None if it was not saved."""
        return self.mode_modestep(global_step)[1]

    def mode_modestep(self, global_step: int) -> tuple[ModeKeys, int] | tuple[None, None]:
        """The mode of a global step, and its number in that mode."""
        for step in self._steps(ModeKeys.GLOBAL):
            if step.global_step == global_step:
                return step.mode, step.mode_step
        return None, None

    def global_step(self, mode: ModeKeys, mode_step: int) -> int | None:
        """The global number of a step of a mode; None if it was not saved."""
        for step in self._steps(mode):
            if step.number(mode) == mode_step:
                return step.global_step
        return None

    def workers(self) -> list[str]:
        """The workers that saved tensors, by rank."""
        ranks = sorted({step.rank for step in self._steps(ModeKeys.GLOBAL)})
        return [worker_name(rank) for rank in ranks]

    def num_workers(self) -> int:
        """The number of workers that save tensors."""
        return self._num_workers()

    def has_passed_step(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> StepState:
        """Whether a step can be read, will never be readable, or may become readable."""
        steps = self.steps(mode)
        if step not in steps and self.dynamic_refresh:
            self.refresh_data()
            steps = self.steps(mode)
        if step in steps:
            return StepState.AVAILABLE
        if self.loaded_all_steps or (steps and step < steps[-1]):
            return StepState.UNAVAILABLE
        return StepState.NOT_YET_AVAILABLE

    def wait_for_steps(
        self, required_steps: Sequence[int], mode: ModeKeys = ModeKeys.GLOBAL
    ) -> None:
        """Wait until all steps can be read.

        Raises:
            StepUnavailable: A step was not saved, but later ones were.
            NoMoreData: The training ended before a step.
        """
        for step in required_steps:
            while (state := self.has_passed_step(step, mode)) == StepState.NOT_YET_AVAILABLE:
                time.sleep(_POLL_SECONDS)
                self.refresh_data()
            if state == StepState.UNAVAILABLE:
                last = max(self.steps(mode), default=-1)
                if step < last:
                    raise StepUnavailable(step, mode)
                raise NoMoreData(step, mode, last)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.path}>"


def _last_complete(steps: list[RecordedStep], num_workers: int) -> int:
    """The last global step that all workers saved; those before it are complete, too."""
    ranks: dict[int, set[int]] = {}
    for step in steps:
        ranks.setdefault(step.global_step, set()).add(step.rank)
    complete = [number for number, saved in ranks.items() if len(saved) >= num_workers]
    return max(complete, default=-1)


def _checked_range(range_steps: Any) -> Range:
    if range_steps is None:
        return None, None
    first, end = range_steps
    if first is not None and end is not None and first >= end:
        raise SMDebugValueError(f"range_steps must be (first, end) with first < end: {range_steps}")
    return first, end
