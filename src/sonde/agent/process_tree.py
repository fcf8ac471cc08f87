"""The processes of a job: a root process and its descendants.

Used by the collector of process metrics, and by the launcher to find processes that outlive the
command.
"""

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MAX_OPEN_FILES = 128  # the limit on descriptors is often 1024
_SCAN_SECONDS = 60.0  # scan all processes at least this often
_LISTINGS_PER_READ = 5  # names in /proc that can be listed in the time of reading a file
_HELPERS = (b"multiprocessing.resource_tracker", b"multiprocessing.forkserver")
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


class Process(NamedTuple):
    """A process at the last reading; PID and start time together are unique."""

    pid: int
    name: str
    state: str
    parent: int
    ticks: int  # CPU time of the process
    waited_ticks: int  # CPU time of descendants that have exited and been waited for
    threads: int
    started_ticks: int
    rss_bytes: int

    @property
    def is_alive(self) -> bool:
        """Whether it is running; a zombie is not."""
        return self.state not in "ZX"


class ProcessFiles:
    """A file of each process in /proc/<pid>, kept open between readings if possible."""

    def __init__(self, proc: Path, name: str) -> None:
        self._pattern = f"{proc}/%d/{name}"
        self._descriptors: dict[int, int] = {}

    def read(self, pid: int) -> bytes:
        """The current content; empty if the process is gone or not accessible."""
        descriptor = self._descriptors.get(pid)
        try:
            if descriptor is not None:
                return os.pread(descriptor, 4096, 0)
            descriptor = os.open(self._pattern % pid, os.O_RDONLY | os.O_CLOEXEC)
        except _GONE:
            return b""
        if len(self._descriptors) < _MAX_OPEN_FILES:
            self._descriptors[pid] = descriptor
            return self.read(pid)
        try:
            return os.pread(descriptor, 4096, 0)
        except _GONE:
            return b""
        finally:
            os.close(descriptor)

    def keep_only(self, pids: Collection[int]) -> None:
        """Close the files of all other processes."""
        for pid in [pid for pid in self._descriptors if pid not in pids]:
            os.close(self._descriptors.pop(pid))


class ProcessTree:
    """A root process and its descendants, which remain members when their parents exit.

    Args:
        proc: The /proc file system.
        root: The process to start from.
        mark: NAME=value; a process with this environment variable is a member even if its parents
            exited before they were seen (a daemon). Empty: no such search.

    Raises:
        ProcessLookupError: The root process does not exist.
    """

    def __init__(self, proc: Path, root: int, mark: str = "") -> None:
        self._proc = proc
        self._mark = mark
        self._stat = ProcessFiles(proc, "stat")
        root_process = _parse_stat(self._stat.read(root))
        if root_process is None:
            raise ProcessLookupError(f"no process {root}")
        self._since_ticks = root_process.started_ticks
        self.members: dict[int, Process] = {root: root_process}  # a new one at every update
        self._raw: dict[int, bytes] = {}
        self._newest_pids: tuple[int, int] = (-1, -1)
        self._scanned_seconds = float("-inf")
        self._listed = 0
        self._has_children_files = Path(f"{proc}/{root}/task/{root}/children").exists()

    def update(self, seconds: float) -> None:
        """Refresh all members and add new ones.

        Args:
            seconds: A monotonic reading of the clock.
        """
        members, raw = {}, {}
        for pid, before in self.members.items():
            raw[pid] = content = self._stat.read(pid)
            # most processes sleep: unchanged content is not parsed again
            now = before if content == self._raw.get(pid) else _parse_stat(content)
            if now is not None and now.started_ticks == before.started_ticks:
                members[pid] = now
        self.members, self._raw = members, raw
        self._find_new(seconds)
        self._stat.keep_only(self.members)

    def close(self) -> None:
        """Close all files."""
        self._stat.keep_only(())

    def _find_new(self, seconds: float) -> None:
        # PIDs are assigned in order. Compare with two updates ago, because a process has its PID
        # slightly before it is visible.
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
        """The last assigned PID; -1 if unknown."""
        try:
            return int(_content(f"{self._proc}/loadavg").split()[-1]) or -1
        except (ValueError, IndexError):
            return -1

    def _add_children(self) -> None:
        waiting = list(self.members.values())
        while waiting:
            for pid in self._children(waiting.pop()):
                if pid not in self.members and (child := _parse_stat(self._stat.read(pid))):
                    self.members[pid] = child
                    waiting.append(child)

    def _children(self, process: Process) -> Iterable[int]:
        folder = f"{self._proc}/{process.pid}/task"
        threads = names_in(folder) if process.threads > 1 else (process.pid,)
        # a child is listed under the thread that created it
        return [
            int(pid)
            for thread in threads
            for pid in _content(f"{folder}/{thread}/children").split()
        ]

    def _add_from_listing(self, above: int) -> None:
        pids = _pids(self._proc)
        self._listed = len(pids)
        candidates = {}
        for pid in pids:
            if (
                pid > above
                and pid not in self.members
                and (process := _parse_stat(self._stat.read(pid)))
            ):
                candidates[pid] = process
        new_members = [process for process in candidates.values() if self._belongs(process)]
        while new_members:
            for process in new_members:
                self.members[process.pid] = candidates.pop(process.pid)
            new_members = [
                process for process in candidates.values() if process.parent in self.members
            ]

    def _belongs(self, process: Process) -> bool:
        if process.parent in self.members:
            return True
        return (
            bool(self._mark)
            and process.started_ticks >= self._since_ticks
            and _has_mark(self._proc, process.pid, self._mark)
        )


def multiprocessing_helpers(proc: Path, processes: Iterable[Process]) -> set[int]:
    """Helper processes of Python's multiprocessing, which exit on their own.

    Processes started by a fork server share its command line but are not helpers.
    """
    helpers = {process.pid: process for process in processes if _is_helper(proc, process.pid)}
    return {pid for pid, process in helpers.items() if process.parent not in helpers}


def _is_helper(proc: Path, pid: int) -> bool:
    try:
        words = (proc / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False
    return any(name in words for name in _HELPERS)


def processes_marked(proc: Path, variable: str) -> list[Process]:
    """All processes with a variable (NAME=value) in their initial environment."""
    pids = [pid for pid in _pids(proc) if _has_mark(proc, pid, variable)]
    processes = (_parse_stat(_content(f"{proc}/{pid}/stat")) for pid in pids)
    return [process for process in processes if process is not None]


def _has_mark(proc: Path, pid: int, variable: str) -> bool:
    return os.fsencode(variable) in _content(f"{proc}/{pid}/environ").split(b"\0")


def _pids(proc: Path) -> list[int]:
    return [int(name) for name in names_in(str(proc)) if name.isdigit()]


def names_in(folder: str) -> list[str]:
    """The names in a folder of /proc; empty if the process is gone or not accessible."""
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


def _parse_stat(stat: bytes) -> Process | None:
    # the name may contain spaces and brackets: it ends at the last bracket
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
