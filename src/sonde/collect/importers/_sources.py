"""The files of a recording, and what their names tell: the rank, the node, the process."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sonde.errors import UsageError

UNKNOWN_NODE = "imported"

_RANK = re.compile(r"(?:^|[^a-z])rank[-_ .]?(\d+)|(?:^|[^a-z])worker[-_]?(\d+)\.", re.IGNORECASE)
# as PyTorch's handler for TensorBoard names them: host_process.time.pt.trace.json
_HOST = re.compile(r"(?P<host>.+)_(?P<pid>\d+)(?:\.\d+)?\.pt\.trace\.json(?:\.gz)?")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Source:
    """One file; of several files with one rank, all are of one worker."""

    path: Path
    rank: int = 0
    node: str = UNKNOWN_NODE
    pid: int = 0


def find_sources(path: Path, endings: Sequence[str]) -> list[Source]:
    """The file itself, or all files in a folder and below that end so."""
    if not path.exists():
        raise UsageError(f"There is no file or folder {path}.")
    files = [path] if path.is_file() else sorted(_files_in(path, endings))
    if not files:
        raise UsageError(f"{path} holds no recordings: no file ends in {' or '.join(endings)}.")
    return with_ranks([(file, _source_of(file)) for file in files])


def with_ranks(found: Sequence[tuple[Path, Source | None]]) -> list[Source]:
    """Gives a rank to those whose name tells none, file by file; one process is one worker."""
    known = {_told_rank(path) for path, _ in found} - {None}
    free = (number for number in range(len(found) + len(known)) if number not in known)
    numbers: dict[object, int] = {}
    sources = []
    for path, source in found:
        rank = _told_rank(path)
        whole = source or Source(path)
        if rank is None:
            process = (whole.node, whole.pid) if whole.pid else path
            rank = numbers[process] if process in numbers else next(free)
            numbers[process] = rank
        sources.append(replace(whole, rank=rank))
    return sources


def node_name(host: str) -> str:
    """A host's name as that of a node."""
    return _NOT_IN_NAMES.sub("-", host).strip(".-")[:128] or UNKNOWN_NODE


def _files_in(folder: Path, endings: Sequence[str]) -> list[Path]:
    return [
        file for file in folder.rglob("*") if file.name.endswith(tuple(endings)) and file.is_file()
    ]


def _told_rank(path: Path) -> int | None:
    match = _RANK.search(path.name)
    return int(match[1] or match[2]) if match else None


def _source_of(path: Path) -> Source:
    match = _HOST.fullmatch(path.name)
    if match is None or _told_rank(path) is not None:
        return Source(path)
    return Source(path, node=node_name(match["host"]), pid=int(match["pid"]))
