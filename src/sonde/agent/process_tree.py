"""The processes of a job: a root process and all that descends from it.

Knows nothing of metrics: the collector turns this into numbers, the launcher asks what is left
when a command has ended.
"""

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MOST_KEPT_OPEN = 128  # descriptors are few (often 1024), and the launcher has other uses for them
_SCAN_SECONDS = 60.0  # at least this often all processes are looked at, whatever the hints say
_LISTINGS_PER_READ = 5  # so many names in /proc are listed in the time that reads one file
_HELPERS = (b"multiprocessing.resource_tracker", b"multiprocessing.forkserver")
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


class Process(NamedTuple):
    """A process as it was when last looked at; pid and start together never come again."""

    pid: int
    name: str
    state: str
    parent: int
    ticks: int  # processor time of its own
    waited_ticks: int  # and of descendants that ended and were waited for
    threads: int
    started_ticks: int
    rss_bytes: int

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended; one that has stays until its parent asks for its exit code."""
        return self.state not in "ZX"


class ProcessFiles:
    """The files of one name below /proc/<pid>, some of them kept open between readings."""

    def __init__(self, proc: Path, name: str) -> None:
        self._pattern = f"{proc}/%d/{name}"
        self._descriptors: dict[int, int] = {}

    def read(self, pid: int) -> bytes:
        """The content at this moment; empty when the process is gone or not ours to look at."""
        descriptor = self._descriptors.get(pid)
        try:
            if descriptor is not None:
                return os.pread(descriptor, 4096, 0)
            descriptor = os.open(self._pattern % pid, os.O_RDONLY | os.O_CLOEXEC)
        except _GONE:
            return b""
        if len(self._descriptors) < _MOST_KEPT_OPEN:
            self._descriptors[pid] = descriptor
            return self.read(pid)
        try:
            return os.pread(descriptor, 4096, 0)
        except _GONE:
            return b""
        finally:
            os.close(descriptor)

    def keep_only(self, pids: Collection[int]) -> None:
        """Closes the files of all other processes."""
        for pid in [pid for pid in self._descriptors if pid not in pids]:
            os.close(self._descriptors.pop(pid))


class ProcessTree:
    """A root process and its descendants, who stay members when their parents end.

    Args:
        proc: Where the kernel shows its processes.
        root: The process to start from.
        mark: NAME=value; a process that has it in its environment is a member although its
            parents ended before they were seen (a daemon). Empty: no such search.

    Raises:
        ProcessLookupError: There is no root.
    """

    def __init__(self, proc: Path, root: int, mark: str = "") -> None:
        self._proc = proc
        self._mark = mark
        self._stat = ProcessFiles(proc, "stat")
        found = _parsed(self._stat.read(root))
        if found is None:
            raise ProcessLookupError(f"no process {root}")
        self._since_ticks = found.started_ticks
        self.members: dict[int, Process] = {root: found}  # a new one at every update
        self._raw: dict[int, bytes] = {}
        self._newest_pids: tuple[int, int] = (-1, -1)
        self._scanned_seconds = float("-inf")
        self._listed = 0
        self._has_children_files = Path(f"{proc}/{root}/task/{root}/children").exists()

    def update(self, seconds: float) -> None:
        """Looks again at all members and finds new ones.

        Args:
            seconds: A monotonic reading of the clock.
        """
        members, raw = {}, {}
        for pid, before in self.members.items():
            raw[pid] = content = self._stat.read(pid)
            # Most processes sleep, and what does not change need not be parsed
            now = before if content == self._raw.get(pid) else _parsed(content)
            if now is not None and now.started_ticks == before.started_ticks:
                members[pid] = now
        self.members, self._raw = members, raw
        self._find_new(seconds)
        self._stat.keep_only(self.members)

    def close(self) -> None:
        """Lets go of all files."""
        self._stat.keep_only(())

    def _find_new(self, seconds: float) -> None:
        # Pids are given out in order. Two updates back, because a process has its pid a moment
        # before it can be seen.
        older, newer = self._newest_pids
        newest = self._newest_pid()
        self._newest_pids = (newer, newest)
        must_scan = seconds - self._scanned_seconds >= _SCAN_SECONDS
        if older == newest != -1 and not must_scan:
            return
        if must_scan:
            self._scanned_seconds = seconds
            self._add_from_listing(above=-1)
        elif self._has_children_files and self._threads() * _LISTINGS_PER_READ < self._listed:
            self._add_children()
        else:
            is_in_order = older <= newer <= newest
            self._add_from_listing(above=older if is_in_order else -1)

    def _threads(self) -> int:
        return sum(member.threads for member in self.members.values())

    def _newest_pid(self) -> int:
        """The pid given out last, -1 where the kernel does not tell."""
        try:
            return int(_content(f"{self._proc}/loadavg").split()[-1]) or -1
        except (ValueError, IndexError):
            return -1

    def _add_children(self) -> None:
        waiting = list(self.members.values())
        while waiting:
            for pid in self._children(waiting.pop()):
                if pid not in self.members and (child := _parsed(self._stat.read(pid))):
                    self.members[pid] = child
                    waiting.append(child)

    def _children(self, process: Process) -> Iterable[int]:
        folder = f"{self._proc}/{process.pid}/task"
        threads = names_in(folder) if process.threads > 1 else (process.pid,)
        # A child is listed under the thread that made it
        return [
            int(pid)
            for thread in threads
            for pid in _content(f"{folder}/{thread}/children").split()
        ]

    def _add_from_listing(self, above: int) -> None:
        pids = _pids(self._proc)
        self._listed = len(pids)
        strangers = {}
        for pid in pids:
            if pid > above and pid not in self.members and (one := _parsed(self._stat.read(pid))):
                strangers[pid] = one
        joining = [one for one in strangers.values() if self._belongs(one)]
        while joining:
            for one in joining:
                self.members[one.pid] = strangers.pop(one.pid)
            joining = [one for one in strangers.values() if one.parent in self.members]

    def _belongs(self, process: Process) -> bool:
        if process.parent in self.members:
            return True
        return (
            bool(self._mark)
            and process.started_ticks >= self._since_ticks
            and _has_mark(self._proc, process.pid, self._mark)
        )


def multiprocessing_helpers(proc: Path, processes: Iterable[Process]) -> set[int]:
    """The processes that Python's multiprocessing keeps for itself: they end by themselves.

    What a fork server has started has its command line, and is no helper.
    """
    found = {one.pid: one for one in processes if _is_helper(proc, one.pid)}
    return {pid for pid, one in found.items() if one.parent not in found}


def _is_helper(proc: Path, pid: int) -> bool:
    try:
        words = (proc / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False
    return any(name in words for name in _HELPERS)


def processes_marked(proc: Path, variable: str) -> list[Process]:
    """All processes that have a variable (NAME=value) in the environment they started with."""
    pids = [pid for pid in _pids(proc) if _has_mark(proc, pid, variable)]
    found = (_parsed(_content(f"{proc}/{pid}/stat")) for pid in pids)
    return [process for process in found if process is not None]


def _has_mark(proc: Path, pid: int, variable: str) -> bool:
    return os.fsencode(variable) in _content(f"{proc}/{pid}/environ").split(b"\0")


def _pids(proc: Path) -> list[int]:
    return [int(name) for name in names_in(str(proc)) if name.isdigit()]


def names_in(folder: str) -> list[str]:
    """What is in a folder of /proc; nothing when its process is gone or not ours to look at."""
    try:
        return os.listdir(folder)  # noqa: PTH208 — a third of the time of Path
    except _GONE:
        return []


def _content(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 — half the time of Path
            return file.read()
    except _GONE:
        return b""


def _parsed(stat: bytes) -> Process | None:
    # The name may hold spaces and brackets of its own: it ends at the last bracket
    head, bracket, tail = stat.rpartition(b") ")
    if not bracket:
        return None
    pid, _, name = head.partition(b" (")
    fields = tail.split(None, 22)
    return Process(
        int(pid),
        name.decode(errors="replace"),
        fields[0].decode(),
        int(fields[1]),
        int(fields[11]) + int(fields[12]),
        int(fields[13]) + int(fields[14]),
        int(fields[17]),
        int(fields[19]),
        int(fields[21]) * _PAGE_BYTES,
    )
