"""Communication between a training process and its data loader processes.

It uses a local folder outside the job. Requests are in a memory-mapped file, so that checking for
one costs a loader process less than a microsecond per batch. Each loader process writes its reports
to a file in the folder.
"""

import mmap
import os
from pathlib import Path

from sonde.store.loader_folders import loader_folder, remove_loader_folder, require_ownership

_PAGE = "asked"
_WORDS = 3
_BYTES = 8 * _WORDS
_NUMBER, _BATCHES, _IS_OPEN = range(_WORDS)


class Channel:
    """The channel of one training process and its loader processes."""

    def __init__(self, folder: Path, owner: int, words: memoryview) -> None:
        self.owner = owner
        self._folder = folder
        self._words = words
        self._offsets: dict[str, int] = {}  # bytes read from each file
        self._is_closed = False

    @classmethod
    def create(cls, run_id: str | None, owner: int) -> "Channel":
        """Create a channel in the training process, before its loaders start."""
        folder = loader_folder(run_id, owner)
        folder.mkdir(mode=0o700, exist_ok=True)  # may remain from a killed process
        require_ownership(folder)
        with (folder / _PAGE).open("w+b") as file:
            file.write(bytes(_BYTES))
            file.flush()
            page = mmap.mmap(file.fileno(), _BYTES)
        return cls(folder, owner, memoryview(page).cast("Q"))

    @classmethod
    def find(cls, run_id: str | None, owner: int) -> "Channel | None":
        """Open the channel in a loader process; None if there is none."""
        folder = loader_folder(run_id, owner)
        try:
            require_ownership(folder)
            with (folder / _PAGE).open("rb") as file:
                page = mmap.mmap(file.fileno(), _BYTES, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            return None
        return cls(folder, owner, memoryview(page).cast("Q"))

    def request(self, batches: int, *, is_open: bool) -> None:
        """Request the times of the next batches from every loader process."""
        words = self._words
        words[_BATCHES], words[_IS_OPEN] = batches, is_open
        words[_NUMBER] += 1  # last, because readers check this word

    def end(self) -> None:
        """Exclude loader processes that start later."""
        self._words[_IS_OPEN] = 0

    @property
    def number(self) -> int:
        """The number of requests so far."""
        return self._words[_NUMBER]

    @property
    def batches(self) -> int:
        """The number of batches in the latest request."""
        return self._words[_BATCHES]

    @property
    def is_open(self) -> bool:
        """Whether the request also applies to processes that start later."""
        return bool(self._words[_IS_OPEN])

    def write(self, line: str) -> None:
        """Write a report as one line; called in a loader process."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        file = os.open(self._folder / str(os.getpid()), flags, 0o600)
        try:
            os.write(file, f"{line}\n".encode())
        finally:
            os.close(file)

    def read_new(self) -> list[tuple[int, str]]:
        """Return new reports as pairs of process id and line."""
        messages: list[tuple[int, str]] = []
        for path in () if self._is_closed else sorted(self._folder.glob("*")):
            if path.name.isdecimal():
                pid, offset = int(path.name), self._offsets.get(path.name, 0)
                with path.open("rb") as file:
                    file.seek(offset)
                    complete = file.read().rpartition(b"\n")[0]
                if complete:
                    self._offsets[path.name] = offset + len(complete) + 1
                    messages += [(pid, line) for line in complete.decode().split("\n")]
        return messages

    def close(self) -> None:
        """Remove the folder; later reports are lost."""
        self._is_closed = True
        remove_loader_folder(self._folder)
