"""The job's processes: what they use together, and the long-lived ones each."""

import os
from collections.abc import Mapping, Sequence

from sonde.agent.process_tree import Process, ProcessFiles, ProcessTree, names_in
from sonde.agent.system._collector import UNKNOWN, Collector
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo, Series

METRICS = (
    MetricInfo("process_tree.processes", "", "processes of the job"),
    MetricInfo("process_tree.threads", "", "threads of the job's processes"),
    MetricInfo("process_tree.cpu_percent", "percent", "processor time, in percent of one core"),
    MetricInfo(
        "process_tree.rss_bytes", "bytes", "memory in use; shared pages count in every process"
    ),
    MetricInfo("process_tree.read_bytes_per_second", "bytes_per_second", "read from disks"),
    MetricInfo("process_tree.write_bytes_per_second", "bytes_per_second", "written to disks"),
    MetricInfo("process_tree.open_files", "", "open files, pipes and sockets; every 5 seconds"),
    MetricInfo(
        "process_tree.cpu_wait_percent",
        "percent",
        "of the time in which main threads of the job wanted a core, the part without one",
    ),
)
PROCESS_CPU = MetricInfo("process.cpu_percent", "percent", "processor time, percent of one core")
PROCESS_RSS = MetricInfo("process.rss_bytes", "bytes", "memory in use, shared pages included")

_TICKS_TO_PERCENT = 100 / os.sysconf("SC_CLK_TCK")
_FILES_SECONDS = 5.0
# A process gets series of its own when it is as old as this, and they change as seldom: a
# compile job has thousands of processes, none of them worth a series
_SETTLED_SECONDS = 20.0
_MOST_SERIES = 32
_SCHEDULE_FIELDS = 2  # nanoseconds on a core, and ready to run without one
_LEAST_WANTED_NS = 10_000_000  # less tells nothing


class ProcessTreeUsage(Collector):
    """The job's processes: processor time, memory, threads, disk traffic, open files.

    Needs a job's process and /proc. Processes that the job's process started, and those they
    started, are all counted, also when they outlive their parents.
    """

    metrics = (*METRICS, PROCESS_CPU, PROCESS_RSS)

    interval_seconds = 0.5

    def open(self) -> None:
        machine = self.machine
        if machine.job_pid is None:
            raise NothingToCollectError("no job's process to look at")
        try:
            self._tree = ProcessTree(machine.proc, machine.job_pid, machine.job_mark)
        except ProcessLookupError as error:
            raise NothingToCollectError(f"{error} in {machine.proc}") from error
        self._io = ProcessFiles(machine.proc, "io")
        self._schedules = ProcessFiles(machine.proc, "schedstat")
        self._scheduled: dict[int, tuple[int, int]] = {}
        self._seconds = UNKNOWN
        self._ticks, self._read, self._written = _Growth(), _Growth(), _Growth()
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
        self._note_ages(seconds)
        alive = [member for member in members.values() if member.is_alive]
        total = {pid: one.ticks + one.waited_ticks for pid, one in members.items()}
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
        if not read:  # all of them run as another user
            return UNKNOWN, UNKNOWN
        return self._read.of(read, before), self._written.of(written, before)

    def _cpu_wait(self) -> float:
        """How much of the time that main threads wanted a core they had to wait for one."""
        before, self._scheduled = self._scheduled, {}
        ran, waited = 0, 0
        for pid in self._tree.members:
            fields = self._schedules.read(pid).split()
            if len(fields) >= _SCHEDULE_FIELDS:
                self._scheduled[pid] = now = int(fields[0]), int(fields[1])
                then = before.get(pid, now)
                ran, waited = ran + max(0, now[0] - then[0]), waited + max(0, now[1] - then[1])
        wanted = ran + waited
        return 100 * waited / wanted if wanted >= _LEAST_WANTED_NS else UNKNOWN

    def _open_files(self, seconds: float) -> float:
        if seconds - self._files_seconds < _FILES_SECONDS:
            return UNKNOWN
        self._files_seconds = seconds
        return sum(len(names_in(f"{self.machine.proc}/{pid}/fd")) for pid in self._tree.members)

    def _note_ages(self, seconds: float) -> None:
        """Keeps when each process was first seen; now and then chooses whom to show."""
        seen = self._first_seen
        self._first_seen = {pid: seen.get(pid, seconds) for pid in self._tree.members}
        if seconds - self._shown_seconds < _SETTLED_SECONDS:
            return
        self._shown_seconds = seconds
        settled = {
            pid: process
            for pid, process in self._tree.members.items()
            if seconds - self._first_seen[pid] >= _SETTLED_SECONDS and process.is_alive
        }
        stay = {pid: device for pid, device in self._shown.items() if pid in settled}
        others = sorted(settled.keys() - stay.keys(), key=lambda pid: -settled[pid].ticks)
        come = {pid: f"{pid} {settled[pid].name}" for pid in others[: _MOST_SERIES - len(stay)]}
        if come or len(stay) < len(self._shown):
            self._shown = stay | come
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


class _Growth:
    """Growth of a counter of the whole tree.

    When a process ends and its parent has waited for it, the kernel adds its count to the
    parent's. So what a parent gained is growth only as far as it is not a known child's past.
    """

    def __init__(self) -> None:
        self._before: dict[int, int] | None = None
        self._owed: dict[int, int] = {}

    def of(self, counts: dict[int, int], family: Mapping[int, Process]) -> float:
        """Growth since the last call, UNKNOWN at first.

        Args:
            counts: Each member's count, with the counts of the children it waited for.
            family: The members at the last call.
        """
        before, self._before = self._before, counts
        if before is None:
            return UNKNOWN
        past = self._past_of_the_gone(before, counts, family)
        owed, self._owed = self._owed, {}
        grown = sum(
            count - was for pid, count in counts.items() if count > (was := before.get(pid, 0))
        )
        for pid in counts.keys() & (past.keys() | owed.keys()):
            gained = max(counts[pid] - before.get(pid, 0), 0)
            debt = past.get(pid, 0) + owed.get(pid, 0)
            grown -= min(gained, debt)
            if pid in past and debt > gained:
                # A parent that was read before it waited gains at the next reading; one that
                # never waits never does, so a debt lives that long and no longer
                self._owed[pid] = min(past[pid], debt - gained)
        return grown

    def _past_of_the_gone(
        self, before: dict[int, int], counts: dict[int, int], family: Mapping[int, Process]
    ) -> dict[int, int]:
        """What members that ended had counted, by the nearest ancestor that is left."""
        past: dict[int, int] = {}
        for pid in before.keys() - counts.keys():
            heir = family[pid].parent if pid in family else 0
            while heir not in counts and heir in family:
                heir = family[heir].parent
            if heir in counts:
                past[heir] = past.get(heir, 0) + before[pid] + self._owed.get(pid, 0)
        return past


def _per_second(amount: float, elapsed: float) -> float:
    return amount / elapsed if elapsed > 0 else UNKNOWN
