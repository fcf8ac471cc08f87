"""Resource usage of the job's processes, in total and for long-lived processes."""

import os
from collections.abc import Mapping, Sequence

from sonde.agent.process_tree import Process, ProcessFiles, ProcessTree, names_in
from sonde.agent.system._collector import UNKNOWN, Collector
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo, Series

METRICS = (
    MetricInfo("process_tree.processes", "", "processes of the job"),
    MetricInfo("process_tree.threads", "", "threads of the job's processes"),
    MetricInfo("process_tree.cpu_percent", "percent", "CPU time, as a percentage of one core"),
    MetricInfo(
        "process_tree.rss_bytes", "bytes", "resident memory; shared pages count in every process"
    ),
    MetricInfo("process_tree.read_bytes_per_second", "bytes_per_second", "read from disks"),
    MetricInfo("process_tree.write_bytes_per_second", "bytes_per_second", "written to disks"),
    MetricInfo(
        "process_tree.open_files", "", "open files, pipes and sockets, read every 5 seconds"
    ),
    MetricInfo(
        "process_tree.cpu_wait_percent",
        "percent",
        "share of runnable time in which main threads of the job waited for a core",
    ),
)
PROCESS_CPU = MetricInfo("process.cpu_percent", "percent", "CPU time, as a percentage of one core")
PROCESS_RSS = MetricInfo("process.rss_bytes", "bytes", "resident memory, including shared pages")

_TICKS_TO_PERCENT = 100 / os.sysconf("SC_CLK_TCK")
_FILES_SECONDS = 5.0
# Minimum age of processes with their own series, and how often these change: a compile job has
# thousands of short-lived processes
_SETTLED_SECONDS = 20.0
_MAX_PROCESSES = 32
_SCHEDULE_FIELDS = 2  # nanoseconds running, and runnable without a core
_MIN_RUNNABLE_NS = 10_000_000  # less is not meaningful


class ProcessTreeUsage(Collector):
    """The job's processes: CPU time, memory, threads, disk traffic and open files.

    Requires /proc. Includes all descendants of the job's process, even if they outlive their
    parents.
    """

    metrics = (*METRICS, PROCESS_CPU, PROCESS_RSS)

    interval_seconds = 0.5
    is_of_processes = True

    def open(self) -> None:
        machine = self.machine
        if machine.job_pid is None:
            raise NothingToCollectError("no job process")
        try:
            self._tree = ProcessTree(machine.proc, machine.job_pid, machine.job_mark)
        except ProcessLookupError as error:
            raise NothingToCollectError(f"{error} in {machine.proc}") from error
        self._io = ProcessFiles(machine.proc, "io")
        self._schedules = ProcessFiles(machine.proc, "schedstat")
        self._scheduled: dict[int, tuple[int, int]] = {}
        self._seconds = UNKNOWN
        self._ticks, self._read, self._written = _TreeCounter(), _TreeCounter(), _TreeCounter()
        self._first_seen: dict[int, float] = {}
        self._shown: dict[int, str] = {}
        self._shown_seconds = self._files_seconds = float("-inf")
        self.series = tuple(map(Series, METRICS))

    def read(self, seconds: float) -> Sequence[float]:
        before = self._tree.members
        self._tree.update(seconds)
        members = self._tree.members
        elapsed, self._seconds = seconds - self._seconds, seconds
        self._io.keep_only(members)
        self._schedules.keep_only(members)
        self._update_ages(seconds)
        alive = [member for member in members.values() if member.is_alive]
        total = {pid: member.ticks + member.waited_ticks for pid, member in members.items()}
        cpu = self._ticks.of(total, before) * _TICKS_TO_PERCENT
        read, written = self._disk_traffic(before)
        return (
            len(alive),
            sum(member.threads for member in alive) if alive else UNKNOWN,
            _per_second(cpu, elapsed),
            sum(member.rss_bytes for member in alive) if alive else UNKNOWN,
            _per_second(read, elapsed),
            _per_second(written, elapsed),
            self._open_files(seconds),
            self._cpu_wait(),
            *self._each(before, elapsed),
        )

    def close(self) -> None:
        self._tree.close()
        self._io.keep_only(())
        self._schedules.keep_only(())

    def _disk_traffic(self, before: Mapping[int, Process]) -> tuple[float, float]:
        read, written = {}, {}
        for pid in self._tree.members:
            if content := self._io.read(pid):
                fields = content.split()
                read[pid], written[pid] = int(fields[9]), int(fields[11])
        if not read:  # all run as another user
            return UNKNOWN, UNKNOWN
        return self._read.of(read, before), self._written.of(written, before)

    def _cpu_wait(self) -> float:
        """Return the share of runnable time in which main threads waited for a core."""
        before, self._scheduled = self._scheduled, {}
        ran, waited = 0, 0
        for pid in self._tree.members:
            fields = self._schedules.read(pid).split()
            if len(fields) >= _SCHEDULE_FIELDS:
                self._scheduled[pid] = now = int(fields[0]), int(fields[1])
                then = before.get(pid, now)
                ran, waited = ran + max(0, now[0] - then[0]), waited + max(0, now[1] - then[1])
        runnable = ran + waited
        return 100 * waited / runnable if runnable >= _MIN_RUNNABLE_NS else UNKNOWN

    def _open_files(self, seconds: float) -> float:
        if seconds - self._files_seconds < _FILES_SECONDS:
            return UNKNOWN
        self._files_seconds = seconds
        return sum(len(names_in(f"{self.machine.proc}/{pid}/fd")) for pid in self._tree.members)

    def _update_ages(self, seconds: float) -> None:
        """Record when each process was first seen; periodically choose processes with series."""
        first_seen = self._first_seen
        self._first_seen = {pid: first_seen.get(pid, seconds) for pid in self._tree.members}
        if seconds - self._shown_seconds < _SETTLED_SECONDS:
            return
        self._shown_seconds = seconds
        settled = {
            pid: process
            for pid, process in self._tree.members.items()
            if seconds - self._first_seen[pid] >= _SETTLED_SECONDS and process.is_alive
        }
        stay = {pid: device for pid, device in self._shown.items() if pid in settled}
        candidates = sorted(settled.keys() - stay.keys(), key=lambda pid: -settled[pid].ticks)
        added = {
            pid: f"{pid} {settled[pid].name}" for pid in candidates[: _MAX_PROCESSES - len(stay)]
        }
        if added or len(stay) < len(self._shown):
            self._shown = stay | added
            each = (Series(m, d) for d in self._shown.values() for m in (PROCESS_CPU, PROCESS_RSS))
            self.series = (*map(Series, METRICS), *each)

    def _each(self, before: Mapping[int, Process], elapsed: float) -> list[float]:
        values: list[float] = []
        for pid in self._shown:
            now, then = self._tree.members.get(pid), before.get(pid)
            if now is None or then is None or not now.is_alive:
                values += (UNKNOWN, UNKNOWN)
            else:
                used = (now.ticks - then.ticks) * _TICKS_TO_PERCENT
                values += (_per_second(used, elapsed), now.rss_bytes)
        return values


class _TreeCounter:
    """Growth of a counter of the whole process tree.

    When a parent waits for an exited child, the kernel adds the child's count to the parent's. This
    is not growth if the child was counted before.
    """

    def __init__(self) -> None:
        self._before: dict[int, int] | None = None
        self._carried_over: dict[int, int] = {}

    def of(self, counts: dict[int, int], previous_members: Mapping[int, Process]) -> float:
        """Return the growth since the last call; UNKNOWN at first.

        Args:
            counts: The count of each member, including children it waited for.
            previous_members: The members at the last call.
        """
        before, self._before = self._before, counts
        if before is None:
            return UNKNOWN
        exited = self._exited_counts(before, counts, previous_members)
        carried_over, self._carried_over = self._carried_over, {}
        growth = sum(
            count - last_count
            for pid, count in counts.items()
            if count > (last_count := before.get(pid, 0))
        )
        for pid in counts.keys() & (exited.keys() | carried_over.keys()):
            increase = max(counts[pid] - before.get(pid, 0), 0)
            counted = exited.get(pid, 0) + carried_over.get(pid, 0)
            growth -= min(increase, counted)
            if pid in exited and counted > increase:
                # a parent that has not waited yet increases at the next reading, or never: keep
                # the rest for one reading
                self._carried_over[pid] = min(exited[pid], counted - increase)
        return growth

    def _exited_counts(
        self,
        before: dict[int, int],
        counts: dict[int, int],
        previous_members: Mapping[int, Process],
    ) -> dict[int, int]:
        """Return the counts of exited members, by their nearest remaining ancestor."""
        exited: dict[int, int] = {}
        for pid in before.keys() - counts.keys():
            ancestor = previous_members[pid].parent if pid in previous_members else 0
            while ancestor not in counts and ancestor in previous_members:
                ancestor = previous_members[ancestor].parent
            if ancestor in counts:
                exited[ancestor] = (
                    exited.get(ancestor, 0) + before[pid] + self._carried_over.get(pid, 0)
                )
        return exited


def _per_second(amount: float, elapsed: float) -> float:
    return amount / elapsed if elapsed > 0 else UNKNOWN
