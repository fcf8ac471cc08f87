"""Lets a process of its own decode the traces that profilers leave, so that no training waits."""

from collections.abc import Sequence

from sonde.clock import Clock
from sonde.side_process import SideProcess, sonde_command
from sonde.store.backends import Backend
from sonde.store.waiting_traces import waiting_traces


def decoding_command(job_uri: str, node: str) -> tuple[str, ...]:
    """The command that decodes what profilers have left on a node."""
    words = ("compact", job_uri, "--node", node, "--traces", "--quiet")
    return sonde_command(*words)


class Decoder:
    """Looks now and then whether a trace has come, and has it decoded."""

    def __init__(self, backend: Backend, command: Sequence[str], clock: Clock) -> None:
        self._backend = backend
        self._process = SideProcess(command, clock)
        self._seen: set[str] = set()

    @property
    def cpu_seconds(self) -> float:
        """What it has cost so far."""
        return self._process.cpu_seconds

    def look(self) -> None:
        """Starts decoding if there is a new trace and nobody is at it.

        A trace is tried once while the job runs: it may be another node's.
        """
        if self._process.is_running():
            return
        waiting = set(waiting_traces(self._backend))
        if not waiting <= self._seen:
            self._seen |= waiting
            self._process.start()

    def finish(self, seconds: float) -> None:
        """Has decoded what is left of a job that has ended, for at most that long.

        What is not done by then, `sonde compact` does another time.
        """
        if self._process.is_running() or any(waiting_traces(self._backend)):
            self._process.run_once_more(seconds)
