"""Training that goes on from a checkpoint goes on counting its steps.

Most optimizers know how often they have stepped. For those that do not, the file tells: we remember
how far training was when a file was saved, and look it up when that file is loaded.
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

_MOST_FILES = 100


class Resuming:
    """Sees what is saved and loaded."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._saved: dict[str, int] = {}
        self._loaded: list[str] = []
        session.listeners.on_begin(self._look_up)

    def attach(self, patches: Patches) -> None:
        """Wraps the functions that save and load."""
        shield = self._session.guard.shield
        saved = self._session.hook("resuming", self._saved_to, None)
        loaded = shield("resuming", self._loaded_from, None)
        restored = shield("resuming", self._restored, None)
        patches.wrap(torch, "save", lambda original: self._saving(original, saved))
        patches.wrap(torch, "load", lambda original: _followed(original, loaded))
        patches.wrap(Optimizer, "load_state_dict", lambda original: _followed(original, restored))

    def _saving(
        self, original: Callable[..., Any], saved: Callable[..., None]
    ) -> Callable[..., Any]:
        def save(*args: Any, **kwargs: Any) -> Any:
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if self._session.state.is_on:  # a process that only saves is not one that trains
                saved(args[1] if len(args) > 1 else kwargs.get("f"))
            return result

        return save

    def _saved_to(self, file: Any) -> None:
        path = _path_of(file)
        if path is None:
            return
        self._saved.pop(path, None)
        self._saved[path] = self._session.steps.counts["train"]
        if len(self._saved) > _MOST_FILES:
            del self._saved[next(iter(self._saved))]
        self._session.worker_thread.hand("checkpoints", self._write)

    def _write(self) -> None:
        info = self._session.store.info
        assert info is not None
        key = layout.checkpoints_key(info.rank)
        document = encode_facts(Checkpoints(dict(self._saved)), key)
        self._session.store.backend.write(key, document)

    def _loaded_from(self, file: Any, *_others: Any) -> None:
        path = _path_of(file)
        if path is not None:
            self._loaded.append(path)
            if self._session.state.is_on:
                self._look_up()

    def _look_up(self) -> None:
        """Goes on from the last file that was loaded, unless an optimizer knew better."""
        info, steps = self._session.store.info, self._session.steps
        assert info is not None
        loaded, self._loaded = self._loaded, []
        if not loaded or steps.counts["train"]:
            return
        for rank in dict.fromkeys((info.rank, 0)):
            known = self._known(layout.checkpoints_key(rank))
            found = [known[path] for path in loaded if path in known]
            if found:
                steps.resume_at(found[-1])
                return

    def _known(self, key: str) -> dict[str, int]:
        try:
            return dict(decode_facts(Checkpoints, self._session.store.backend.read(key), key).steps)
        except (KeyMissingError, DamagedError):
            return {}

    def _restored(self, optimizer: Optimizer, *_others: Any) -> None:
        """An optimizer that was restored from a checkpoint knows how often it has stepped."""
        counts = [state.get("step") for state in optimizer.state.values()]
        here = [full_tensor(count) if isinstance(count, Tensor) else count for count in counts]
        known = [int(count) for count in here if count is not None]
        if known and not self._session.steps.counts["train"]:
            self._session.steps.resume_at(max(known))


def _followed(original: Callable[..., Any], after: Callable[..., None]) -> Callable[..., Any]:
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
    """The file's path, from a path or from an open file; None where there is none."""
    name = file if isinstance(file, str | os.PathLike) else getattr(file, "name", None)
    return os.path.realpath(name) if isinstance(name, str | os.PathLike) else None
