"""Pass the recording on to the processes of a job, and finish it."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from sonde.agent.interpreter import why_hook_fails
from sonde.agent.outcome import Outcome
from sonde.agent.recording import END_SECONDS, Recording
from sonde.agent.registration import Registration
from sonde.agent.relay import Relay
from sonde.bounded_calls import call_within
from sonde.clock import SystemClock
from sonde.guard import Guard
from sonde.records.job import Exit
from sonde.settings import RunSettings
from sonde.store import layout
from sonde.store.loader_folders import remove_loader_folders

INJECT_FOLDER = Path(__file__).parent.parent / "hook" / "inject"
_SWEEP_SECONDS = 1.0
_LAST_SECONDS = 1.0  # minimum time to send the last data


@dataclass(frozen=True, slots=True)
class Handover:
    """What the processes of an attempt need to record into the same job."""

    registration: Registration
    settings: RunSettings
    clock: SystemClock
    run_id: str
    relay: Relay | None

    def variables(self, python_path: str | None) -> dict[str, str]:
        """Environment variables of the job's processes.

        Args:
            python_path: The current PYTHONPATH. It is not set if the hook's first module is
                damaged: the processes then run without the hook.
        """
        path = os.pathsep.join(filter(None, (str(INJECT_FOLDER), python_path)))
        hooked = {"PYTHONPATH": path} if why_hook_fails(INJECT_FOLDER) is None else {}
        return {
            **hooked,
            "SONDE_JOB": self.registration.job,
            "SONDE_JOB_URI": self.registration.backend.uri,
            "SONDE_NODE": self.registration.node,
            "SONDE_ATTEMPT": str(self.registration.number),
            "SONDE_CLOCK_ANCHOR_NS": str(self.clock.anchor_ns),
            "SONDE_RUN_ID": self.run_id,
            "SONDE_HOOK": self.settings.for_workers().to_json(),
            # empty: write directly to the job, also inside a job that has a relay
            "SONDE_WORKER_URI": self.relay.source.uri if self.relay else "",
        }

    def finish(self, recording: Recording, exit_: Exit, *, leaves_report: bool = False) -> Outcome:
        """Finish the recording and send the rest of the spool."""
        Guard().attempt("files of data loaders", lambda: remove_loader_folders(self.run_id), None)
        relay, clock = self.relay, self.clock
        deadline = clock.seconds() + END_SECONDS
        outcome = recording.finish(exit_, leaves_report=leaves_report)
        call_within(_SWEEP_SECONDS, "incomplete files", self._sweep, None)
        if relay is None:
            return outcome
        remaining = max(_LAST_SECONDS, deadline - clock.seconds())
        # processes that are still running may write more; another process sends that
        if relay.finish(remaining, keep=bool(exit_.left_running)):
            return outcome
        return replace(outcome, unsent=str(relay.spool.folder))

    def _sweep(self) -> None:
        """Remove temporary files of interrupted writes."""
        backend, node, own_pid = self.registration.backend, self.registration.node, os.getpid()
        backend.sweep_of(layout.node_folder(node), lambda pid: pid == own_pid or not _is_alive(pid))
        # with several nodes, the PID may belong to another machine
        if backend.folders(layout.NODES) == [node]:
            backend.sweep_of("", lambda pid: not _is_alive(pid))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # a process of another user
        return True
    return True
