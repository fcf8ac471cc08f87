"""Continues the step count of training resumed from a checkpoint.

Most optimizers store their step count. For others, the number of completed steps is recorded when a
checkpoint file is saved and looked up when the file is loaded.
"""

import os
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from sonde.errors import DamagedError, KeyMissingError
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.session import Session
from sonde.hook.torch.patching.patches import Patches
from sonde.hook.torch.tensors.shards import full_tensor
from sonde.records.worker import Checkpoints
from sonde.store import layout
from sonde.store.facts import decode_facts, encode_facts

_MAX_FILES = 100


class Resuming:
    """Observes saved and loaded checkpoints."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._saved: dict[str, int] = {}
        self._loaded: list[str] = []
        session.listeners.on_begin(self._look_up)

    def attach(self, patches: Patches) -> None:
        """Wrap the functions that save and load checkpoints."""
        shield = self._session.guard.shield
        saved = self._session.hook("resuming", self._after_save, None)
        loaded = shield("resuming", self._after_load, None)
        restored = shield("resuming", self._restored, None)
        patches.wrap(torch, "save", lambda original: self._wrap_save(original, saved))
        patches.wrap(torch, "load", lambda original: _call_then(original, loaded))
        patches.wrap(Optimizer, "load_state_dict", lambda original: _call_then(original, restored))

    def _wrap_save(
        self, original: Callable[..., Any], saved: Callable[..., None]
    ) -> Callable[..., Any]:
        def save(*args: Any, **kwargs: Any) -> Any:
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if self._session.state.is_on:  # saving alone must not start a session
                saved(args[1] if len(args) > 1 else kwargs.get("f"))
            return result

        return save

    def _after_save(self, file: Any) -> None:
        path = _path_of(file)
        if path is None:
            return
        self._saved.pop(path, None)
        self._saved[path] = self._session.steps.counts["train"]
        if len(self._saved) > _MAX_FILES:
            del self._saved[next(iter(self._saved))]
        self._session.worker_thread.submit("checkpoints", self._write)

    def _write(self) -> None:
        info = self._session.store.info
        assert info is not None
        key = layout.checkpoints_key(info.rank)
        document = encode_facts(Checkpoints(dict(self._saved)), key)
        self._session.store.backend.write(key, document)

    def _after_load(self, file: Any, *_arguments: Any) -> None:
        path = _path_of(file)
        if path is not None:
            self._loaded.append(path)
            if self._session.state.is_on:
                self._look_up()

    def _look_up(self) -> None:
        """Continue from the last loaded file, unless an optimizer has set the step count."""
        info, steps = self._session.store.info, self._session.steps
        assert info is not None
        loaded, self._loaded = self._loaded, []
        if not loaded or steps.counts["train"]:
            return
        for rank in dict.fromkeys((info.rank, 0)):
            steps_by_path = self._saved_steps(layout.checkpoints_key(rank))
            matches = [steps_by_path[path] for path in loaded if path in steps_by_path]
            if matches:
                steps.resume_at(matches[-1])
                return

    def _saved_steps(self, key: str) -> dict[str, int]:
        try:
            return dict(decode_facts(Checkpoints, self._session.store.backend.read(key), key).steps)
        except (KeyMissingError, DamagedError):
            return {}

    def _restored(self, optimizer: Optimizer, *_arguments: Any) -> None:
        """Continue from the step count of a restored optimizer."""
        counts = [state.get("step") for state in optimizer.state.values()]
        local_counts = [
            full_tensor(count) if isinstance(count, Tensor) else count for count in counts
        ]
        steps = [int(count) for count in local_counts if count is not None]
        if steps and not self._session.steps.counts["train"]:
            self._session.steps.resume_at(max(steps))


def _call_then(original: Callable[..., Any], after: Callable[..., None]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        after(*(args or kwargs.values()))
        return result

    return call


def _path_of(file: Any) -> str | None:
    """The path of a path-like object or an open file, or None."""
    name = file if isinstance(file, str | os.PathLike) else getattr(file, "name", None)
    return os.path.realpath(name) if isinstance(name, str | os.PathLike) else None
