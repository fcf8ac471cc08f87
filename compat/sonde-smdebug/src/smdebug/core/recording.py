"""The Sonde job that records what a hook saves.

Each step of the hook is a step of the job, with the same mode; steps without a mode count as
training. Scalars of that step contain the hook's own numbers.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sonde
from smdebug.core.modes import ModeKeys

TAG = "smdebug"  # the collection of everything that a hook saves
COLLECTIONS = "smdebug/collections"  # the hook's collections, as the bytes of a JSON text
GLOBAL_STEP = "smdebug/global_step"
MODE = "smdebug/mode"
MODE_STEP = "smdebug/mode_step"
POINTER = "sonde-job.json"
END_FILE = "training_job_end.ts"

SONDE_MODES = {
    ModeKeys.TRAIN: "train",
    ModeKeys.EVAL: "eval",
    ModeKeys.PREDICT: "predict",
    ModeKeys.GLOBAL: "train",
}


class HookRecording:
    """Records the tensors of a hook in the job of this process, or in one of its own."""

    def __init__(self, out_dir: str) -> None:
        self._out_dir = out_dir
        self._is_begun = False
        self._began_job = False
        self._counts = dict.fromkeys(("train", "eval", "predict"), -1)
        self._numbers: dict[str, float] = {}
        self._at = ("train", 0)
        self._has_logged_step = True
        self.has_unwritten = False

    def begin(self) -> None:
        """Begin a job in `out_dir`, unless this process is already recorded."""
        if self._is_begun:
            return
        self._is_begun = True
        if sonde.current_job() is None:
            sonde.start(store=self._out_dir, quiet=True)
            self._began_job = sonde.current_job() is not None
        uri = sonde.current_job()
        if uri is not None and not is_remote(self._out_dir):
            folder = Path(self._out_dir)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / POINTER).write_text(json.dumps({"uri": uri}))

    def begin_step(self, global_step: int, mode: ModeKeys, mode_step: int) -> None:
        """Assign what is saved from now on to another step."""
        sonde_mode = SONDE_MODES[mode]
        self._counts[sonde_mode] += 1
        self._at = sonde_mode, self._counts[sonde_mode]
        self._numbers = {GLOBAL_STEP: global_step, MODE: mode.value, MODE_STEP: mode_step}
        self._has_logged_step = False

    def save(
        self,
        name: str,
        value: Any,
        collections: Sequence[str],
        reductions: Sequence[str] | None = None,
    ) -> None:
        """Record a tensor: its full value, or reductions of it."""
        mode, step = self._at
        if not self._has_logged_step:
            self._has_logged_step = True
            sonde.log(self._numbers, step=step, mode=mode)
        self.has_unwritten = True
        sonde.save(
            name,
            value,
            step=step,
            mode=mode,
            collections=(TAG, *collections),
            reductions=reductions,
        )

    def log(self, name: str, value: float) -> None:
        """Record a number, for the charts and rules of Sonde."""
        mode, step = self._at
        sonde.log({name: value}, step=step, mode=mode)

    def save_collections(self, document: dict[str, Any]) -> None:
        """Record the collections and their configuration."""
        content = np.array(bytearray(json.dumps(document).encode()))
        self.save(COLLECTIONS, content, ())

    def flush(self) -> None:
        """Write everything saved so far."""
        self.has_unwritten = False
        sonde.flush()

    def finish(self) -> None:
        """Write everything, and mark the folder as complete."""
        self.flush()
        if not is_remote(self._out_dir) and "TRAINING_JOB_NAME" not in os.environ:
            Path(self._out_dir, END_FILE).touch()

    def end(self) -> None:
        """End the job, if the hook began it."""
        self.finish()
        if self._began_job:
            self._began_job = False
            sonde.stop()


def is_remote(path: str) -> bool:
    """Whether a path is that of an object store."""
    return "://" in path
