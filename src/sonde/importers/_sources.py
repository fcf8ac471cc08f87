"""The files of a recording, with rank, node and process from their names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sonde.errors import UsageError

UNKNOWN_NODE = "imported"

_RANK = re.compile(r"(?:^|[^a-z])rank[-_ .]?(\d+)|(?:^|[^a-z])worker[-_]?(\d+)\.", re.IGNORECASE)
# names by PyTorch's TensorBoard handler: host_process.time.pt.trace.json
_HOST = re.compile(r"(?P<host>.+)_(?P<pid>\d+)(?:\.\d+)?\.pt\.trace\.json(?:\.gz)?")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Source:
    """One file; files with the same rank belong to one worker."""

    path: Path
    rank: int = 0
    node: str = UNKNOWN_NODE
    pid: int = 0


def find_sources(path: Path, endings: Sequence[str]) -> list[Source]:
    """The file, or all files with these endings in a folder, with ranks and nodes."""
    return with_ranks([_source_of(file) for file in find_files(path, endings)])


def find_files(path: Path, endings: Sequence[str]) -> list[Path]:
    """The file, or all files with these endings in a folder and its subfolders."""
    if not path.exists():
        raise UsageError(f"{path} does not exist.")
    if not path.is_dir():
        return [path]
    files = [
        file for file in path.rglob("*") if file.name.endswith(tuple(endings)) and file.is_file()
    ]
    if not files:
        raise UsageError(f"{path} has no recordings: no file ends in {' or '.join(endings)}.")
    return sorted(files)


def with_ranks(sources: Sequence[Source]) -> list[Source]:
    """Assign ranks to sources without a rank in their name; each process is one worker."""
    ranks = [_rank_in_name(source.path) for source in sources]
    free = (number for number in range(len(sources) + len(ranks)) if number not in ranks)
    numbers: dict[object, int] = {}
    numbered = []
    for source, rank in zip(sources, ranks, strict=True):
        process = (source.node, source.pid) if source.pid else source.path
        if process not in numbers:
            numbers[process] = next(free) if rank is None else rank
        numbered.append(replace(source, rank=numbers[process]))
    return numbered


def node_name(host: str) -> str:
    """A valid node name from a host name."""
    return _NOT_IN_NAMES.sub("-", host).strip(".-")[:128] or UNKNOWN_NODE


def _rank_in_name(path: Path) -> int | None:
    match = _RANK.search(path.name)
    return int(match[1] or match[2]) if match else None


def _source_of(path: Path) -> Source:
    match = _HOST.fullmatch(path.name)
    if match is None or _rank_in_name(path) is not None:
        return Source(path)
    return Source(path, node=node_name(match["host"]), pid=int(match["pid"]))
