"""A machine with /proc and /sys in a folder, written by the test."""

import shutil
from pathlib import Path

from sonde.agent.system import Collector, Machine


class FakeMachine:
    """Writes files of the kernel and provides a Machine for collectors."""

    def __init__(self, folder: Path) -> None:
        self.proc = folder / "proc"
        self.sys = folder / "sys"
        self.proc.mkdir()
        self.sys.mkdir()

    def machine(self, job_pid: int | None = None, job_mark: str = "") -> Machine:
        return Machine(self.proc, self.sys, job_pid=job_pid, job_mark=job_mark)

    def write(self, path: str, content: str) -> None:
        """Write proc/… or sys/… in place, so that open readers see the change."""
        file = self.proc.parent / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    def process(
        self,
        pid: int,
        parent: int = 1,
        name: str = "python",
        state: str = "S",
        *,
        ticks: int = 0,
        waited_ticks: int = 0,
        threads: int = 1,
        started: int = 1000,
        rss_pages: int = 10,
    ) -> None:
        """Create or change a process."""
        fields = ["0"] * 50
        fields[0:2] = [state, str(parent)]
        fields[11], fields[13] = str(ticks), str(waited_ticks)
        fields[17], fields[19], fields[21] = str(threads), str(started), str(rss_pages)
        self.write(f"proc/{pid}/stat", f"{pid} ({name}) {' '.join(fields)}\n")

    def traffic(self, pid: int, read: int, written: int) -> None:
        """Set the bytes that a process has read from and written to disks."""
        self.write(
            f"proc/{pid}/io",
            f"rchar: 1\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: {read}\nwrite_bytes: {written}\n"
            "cancelled_write_bytes: 0\n",
        )

    def remove(self, pid: int) -> None:
        """End a process; files of it that are still open become empty, as in the kernel."""
        for file in (self.proc / str(pid)).glob("*"):
            if file.is_file():
                file.write_text("")
        shutil.rmtree(self.proc / str(pid))

    def newest_pid(self, pid: int) -> None:
        """Set the most recently assigned process ID."""
        self.write("proc/loadavg", f"0.50 0.40 0.30 2/84 {pid}\n")


def named(collector: Collector, values: object) -> dict[str, float]:
    """Return the values of a collector by series key."""
    assert isinstance(values, list | tuple)
    return {series.key: value for series, value in zip(collector.series, values, strict=True)}
