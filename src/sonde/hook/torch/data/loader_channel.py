"""How a process that trains and the processes that load its data hear of each other.

A folder of the machine's own, not of the job: its first page says what is asked for and is in the
memory of all of them, so that to look costs a loader process less than a microsecond per batch.
What a loader process tells is a file there, of its own.
"""

import mmap
import os
from pathlib import Path

from sonde.store.loader_folders import loader_folder, remove_loader_folder

_PAGE = "asked"
_WORDS = 3
_BYTES = 8 * _WORDS
_NUMBER, _BATCHES, _IS_OPEN = range(_WORDS)


def _refuse_others(folder: Path) -> None:
    """Where everybody may make folders, somebody else may have been first."""
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} is somebody else's")


class Channel:
    """One process that trains, and those that load for it."""

    def __init__(self, folder: Path, owner: int, words: memoryview) -> None:
        self.owner = owner
        self._folder = folder
        self._words = words
        self._heard: dict[str, int] = {}  # bytes of each file
        self._is_closed = False

    @classmethod
    def create(cls, run_id: str | None, owner: int) -> "Channel":
        """In the process that trains, before its loaders start."""
        folder = loader_folder(run_id, owner)
        folder.mkdir(mode=0o700, exist_ok=True)  # a process that was killed may have left it
        _refuse_others(folder)
        with (folder / _PAGE).open("w+b") as file:
            file.write(bytes(_BYTES))
            file.flush()
            page = mmap.mmap(file.fileno(), _BYTES)
        return cls(folder, owner, memoryview(page).cast("Q"))

    @classmethod
    def find(cls, run_id: str | None, owner: int) -> "Channel | None":
        """In a loader process that was not forked from its owner; None where nobody will ask."""
        folder = loader_folder(run_id, owner)
        try:
            _refuse_others(folder)
            with (folder / _PAGE).open("rb") as file:
                page = mmap.mmap(file.fileno(), _BYTES, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            return None
        return cls(folder, owner, memoryview(page).cast("Q"))

    def ask(self, batches: int, *, is_open: bool) -> None:
        """From every loader process the times of its next batches."""
        words = self._words
        words[_BATCHES], words[_IS_OPEN] = batches, is_open
        words[_NUMBER] += 1  # the last, since it is what they look at

    def end(self) -> None:
        """Who starts from now on is not asked."""
        self._words[_IS_OPEN] = 0

    @property
    def number(self) -> int:
        """How often was asked."""
        return self._words[_NUMBER]

    @property
    def batches(self) -> int:
        """What was asked for last."""
        return self._words[_BATCHES]

    @property
    def is_open(self) -> bool:
        """Whether that holds for those, too, who start only now."""
        return bool(self._words[_IS_OPEN])

    def tell(self, line: str) -> None:
        """What a loader process has to say: one line."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        file = os.open(self._folder / str(os.getpid()), flags, 0o600)
        try:
            os.write(file, f"{line}\n".encode())
        finally:
            os.close(file)

    def hear(self) -> list[tuple[int, str]]:
        """What they have told since: the process and its line."""
        told: list[tuple[int, str]] = []
        for place in () if self._is_closed else sorted(self._folder.glob("*")):
            if place.name.isdecimal():
                pid, heard = int(place.name), self._heard.get(place.name, 0)
                with place.open("rb") as file:
                    file.seek(heard)
                    whole = file.read().rpartition(b"\n")[0]
                if whole:
                    self._heard[place.name] = heard + len(whole) + 1
                    told += [(pid, line) for line in whole.decode().split("\n")]
        return told

    def close(self) -> None:
        """Leaves nothing behind; who still wants to tell something finds no place for it."""
        self._is_closed = True
        remove_loader_folder(self._folder)
