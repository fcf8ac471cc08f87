"""Decode profiler traces in a separate process, so that training does not wait."""

from collections.abc import Sequence

from sonde.clock import Clock
from sonde.side_process import SideProcess, sonde_command
from sonde.store.backends import Backend
from sonde.store.waiting_traces import waiting_traces


def decoding_command(job_uri: str, node: str) -> tuple[str, ...]:
    """The command that decodes the pending traces of a node."""
    words = ("compact", job_uri, "--node", node, "--traces", "--quiet")
    return sonde_command(*words)


class Decoder:
    """Starts decoding when there are new traces."""

    def __init__(self, backend: Backend, command: Sequence[str], clock: Clock) -> None:
        self._backend = backend
        self._process = SideProcess(command, clock)
        self._started: set[str] = set()

    @property
    def cpu_seconds(self) -> float:
        """CPU time used so far."""
        return self._process.cpu_seconds

    def check(self) -> None:
        """Start decoding if there is a new trace and no decoder is running.

        A trace is tried once while the job runs, because it may belong to another node.
        """
        if self._process.is_running():
            return
        waiting = set(waiting_traces(self._backend))
        if not waiting <= self._started:
            self._started |= waiting
            self._process.start()

    def finish(self, seconds: float) -> None:
        """Decode the remaining traces of a finished job, up to a timeout.

        `sonde compact` can decode the rest later.
        """
        if self._process.is_running() or any(waiting_traces(self._backend)):
            self._process.run_once_more(seconds)
