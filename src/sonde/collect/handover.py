"""What the processes of a job are told, and how its recording ends: with and without a launcher."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from sonde.clock import SystemClock
from sonde.collect.recording import END_SECONDS, Outcome, Recording
from sonde.collect.registration import Registration
from sonde.collect.relay import Relay
from sonde.collect.torch.loader_channel import sweep
from sonde.guard import Guard
from sonde.records.job import Exit
from sonde.settings import RunSettings

INJECTED = Path(__file__).parent / "inject"
_LAST_SECONDS = 1.0  # to send what was written after everything else


@dataclass(frozen=True, slots=True)
class Handover:
    """One attempt at a job, as its processes have to know it."""

    place: Registration
    settings: RunSettings
    clock: SystemClock
    run_id: str
    relay: Relay | None

    def variables(self, python_path: str | None) -> dict[str, str]:
        """What processes of the job need to know to write into the same job on the same clock."""
        return {
            "SONDE_JOB": self.place.job,
            "SONDE_JOB_URI": self.place.backend.uri,
            "SONDE_NODE": self.place.node,
            "SONDE_ATTEMPT": str(self.place.number),
            "SONDE_CLOCK_ANCHOR_NS": str(self.clock.anchor_ns),
            "SONDE_RUN_ID": self.run_id,
            "SONDE_HOOK": self.settings.for_workers().to_json(),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(INJECTED), python_path))),
            # empty: straight into the job's place, also inside of a job that has a relay
            "SONDE_WORKER_URI": self.relay.source.uri if self.relay else "",
        }

    def finish(self, recording: Recording, exit_: Exit) -> Outcome:
        """The workers' last words first, as long as that takes no time from our own."""
        Guard().attempt("files of data loaders", lambda: sweep(self.run_id), None)
        relay, clock = self.relay, self.clock
        deadline = clock.seconds() + END_SECONDS
        outcome = recording.finish(exit_)
        if relay is None:
            return outcome
        left = max(_LAST_SECONDS, deadline - clock.seconds())
        # who is still there may write on, and another process sends it
        if relay.finish(left, keep=bool(exit_.left_running)):
            return outcome
        return replace(outcome, unsent=str(relay.spool.folder))
