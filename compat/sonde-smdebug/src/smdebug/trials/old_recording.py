"""Folders that smdebug itself has written: imported into a temporary store when they are opened."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import sonde
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.modes import ModeKeys
from smdebug.core.recording import SONDE_MODES
from smdebug.exceptions import IndexReaderException
from smdebug.trials.recorded_steps import RecordedStep

_JOB = "trial"
_INDEX = re.compile(r"(?P<step>\d{12})_(?:.*_)?(?P<rank>\d+)\.json")


def is_old_recording(path: str) -> bool:
    """Whether smdebug has written a folder."""
    return Path(path, "events").is_dir() and Path(path, "collections").is_dir()


def import_old_recording(path: str) -> sonde.Job:
    """Import a folder into a store that is removed at the end of the process.

    Raises:
        IndexReaderException: It cannot be imported.
    """
    return sonde.open_job(_JOB, store=_imported(str(Path(path).resolve())).name)


@cache
def _imported(path: str) -> "TemporaryDirectory[str]":
    store = TemporaryDirectory(prefix="sonde-smdebug-")
    command = [sys.executable, "-m", "sonde", "import", "smdebug", path]
    done = subprocess.run(
        [*command, "--name", _JOB, "--store", store.name],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise IndexReaderException(f"{path} cannot be imported: {done.stderr.strip()}")
    return store


def steps_of_index(path: str) -> list[RecordedStep]:
    """The steps that the index of a folder lists."""
    return sorted(_steps(Path(path)), key=lambda step: (step.global_step, step.rank))


def _steps(folder: Path) -> Iterator[RecordedStep]:
    for file in folder.glob("index/*/*.json"):
        match = _INDEX.fullmatch(file.name)
        if match is None:
            continue
        meta = json.loads(file.read_text())["meta"]
        mode, number = ModeKeys[meta["mode"]], int(meta["mode_step"])
        yield RecordedStep(
            int(match["rank"]), int(match["step"]), mode, number, SONDE_MODES[mode], number
        )


def collections_of_folder(path: str) -> CollectionManager | None:
    """The collections of the first worker; None if there is no list."""
    files = sorted(Path(path).glob("collections/*/*_collections.json"))
    return CollectionManager.load(str(files[0])) if files else None
