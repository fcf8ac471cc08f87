"""The last lines that a command wrote to stdout and stderr, where reading them changes nothing.

A command gets the launcher's own stdout and stderr, unchanged. If one is redirected to a file, the
end of that file is read when the command is over. A terminal or a pipe cannot be read a second
time: a copy would need a process between the command and its reader, and the command would no
longer see a terminal, or would be killed with that process.
"""

import fcntl
import os
import stat
from dataclasses import dataclass

from sonde.masking import mask_text

_STREAMS = {"stdout": 1, "stderr": 2}
_MAX_BYTES = 32_768
_MAX_LINES = 40
_MAX_LINE_LENGTH = 1_000


@dataclass(frozen=True, slots=True)
class _File:
    """A file that receives output, and where the output of the command begins."""

    descriptor: int
    identity: tuple[int, int]
    offset: int


class OutputTail:
    """Reads the output of a command that starts now, from the files it is redirected to."""

    def __init__(self) -> None:
        self._files = {
            name: file
            for name, descriptor in _STREAMS.items()
            if (file := _file_of(descriptor)) is not None
        }

    def lines(self) -> dict[str, tuple[str, ...]]:
        """The last lines by stream, masked; a file that both streams share counts as stdout."""
        tails: dict[str, tuple[str, ...]] = {}
        identities: set[tuple[int, int]] = set()
        for name, file in self._files.items():
            if file.identity not in identities:
                identities.add(file.identity)
                tails[name] = _last_lines(_end_of(file))
        return tails


def _file_of(descriptor: int) -> _File | None:
    """The regular file of a descriptor; None for terminals, pipes, devices and closed ones."""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        appends = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND
        offset = status.st_size if appends else os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:
        return None
    return _File(descriptor, (status.st_dev, status.st_ino), offset)


def _end_of(file: _File) -> bytes:
    """The end of what was written since; empty if the file cannot be read."""
    try:
        # the descriptor may be for writing only; this opens the same file, even if it was renamed
        reading = os.open(f"/proc/self/fd/{file.descriptor}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        size = os.fstat(reading).st_size
        start = file.offset if size >= file.offset else 0  # it was truncated
        start = max(start, size - _MAX_BYTES)
        data = os.pread(reading, size - start, start)
        return data if start == file.offset else data.partition(b"\n")[2] or data
    except OSError:
        return b""
    finally:
        os.close(reading)


def _last_lines(data: bytes) -> tuple[str, ...]:
    """Lines as a terminal shows them: a progress bar is only its last state."""
    lines = data.decode(errors="replace").rstrip("\n").split("\n") if data else []
    shown = [line.rstrip("\r").rpartition("\r")[2] for line in lines]
    text = "\n".join(line[:_MAX_LINE_LENGTH] for line in shown[-_MAX_LINES:])
    return tuple(mask_text(text).split("\n")) if text else ()
