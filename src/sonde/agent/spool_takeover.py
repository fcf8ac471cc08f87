"""Send a spool whose launcher was killed or gave up on a slow store."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sonde.agent.process_tree import processes_marked
from sonde.agent.relay import Relay
from sonde.clock import Clock
from sonde.errors import StoreError
from sonde.guard import Guard
from sonde.records.job import Attempt, Exit
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.closing import closing_key, write_closing
from sonde.store.facts import Record, decode_facts, encode_facts
from sonde.store.spool import Spool, SpoolFacts, find_unsent

# Time limit after the exit of the job's last process; then the next command on the job sends it.
PATIENCE_SECONDS = 3600.0
EVERY_SECONDS = 30.0  # interval while the job runs
RETRY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Sent:
    """Marks that all data of a spool has reached the store."""

    time_ns: int


def is_running(facts: SpoolFacts) -> bool:
    """Whether a process of the job may still write into the spool."""
    marked = processes_marked(Path("/proc"), f"SONDE_RUN_ID={facts.run_id}")
    return any(process.is_alive for process in marked)


class SpoolTakeover:
    """Sends a spool, whose lock this process holds, until the job ends and everything is sent."""

    def __init__(
        self,
        spool: Spool,
        target: Backend,
        clock: Clock,
        is_running: Callable[[SpoolFacts], bool] = is_running,
    ) -> None:
        self._spool = spool
        self._target = target
        self._clock = clock
        self._is_running = is_running
        self._relay = Relay(spool, target, clock)
        self._relay.forget_progress()
        self.trouble: str | None = None  # why sending failed

    def run(self, patience_seconds: float) -> bool:
        """Send until everything has arrived and remove the spool; return whether that succeeded."""
        guard, never = Guard(), threading.Event()
        over_since: float | None = None
        due = self._clock.seconds()
        while True:
            # checked before sending, so that the last writes of a process are sent
            is_over = not self._is_running(self._spool.facts)
            if not is_over and self._clock.seconds() < due:
                self._clock.wait(never, RETRY_SECONDS)
                continue
            due = self._clock.seconds() + EVERY_SECONDS
            if not guard.attempt("job", self._is_needed, default=True):
                return False
            has_arrived = guard.attempt("sending", self._send, default=False)
            has_arrived = has_arrived and is_over and guard.attempt("closing", self._close, False)
            now = self._clock.seconds()
            if not is_over:
                over_since = None
            elif has_arrived:
                self._spool.remove()
                return True
            elif over_since is None:
                over_since = now
            if over_since is not None and now - over_since >= patience_seconds:
                return False
            self._clock.wait(never, RETRY_SECONDS)

    def _is_needed(self) -> bool:
        """Whether neither the job nor the spool was removed."""
        if not self._spool.lock_path.exists():
            self.trouble = "the folder was removed"
            return False
        if self._target.exists(layout.JOB):
            return True
        self.trouble = "the job was removed from the store; remove this folder"
        return False

    def _send(self) -> bool:
        """Send new data; return whether it has arrived."""
        try:
            self._relay.continue_from_target()
            if not self._relay.send():
                self.trouble = self._relay.trouble
                return False
        except StoreError as error:
            self.trouble = str(error)
            return False
        self.trouble = None
        return True

    def _close(self) -> bool:
        """Mark the data as complete; record the end of the job if its launcher did."""
        # a delayed write of the killed launcher may have replaced newer data
        if find_unsent(self._spool.source, self._target).files:
            self._relay.forget_progress()
            return False
        facts, now_ns = self._spool.facts, self._clock.now_ns()
        key = layout.attempt_key(facts.node, facts.number, layout.SENT)
        self._target.write(key, encode_facts(Sent(now_ns), key))
        attempt, exit_ = self._document(Attempt, "start"), self._document(Exit, "exit")
        if attempt and exit_ and not self._target.exists(closing_key(facts.node, facts.number)):
            is_creator = facts.is_creator
            write_closing(self._target, attempt, exit_, now_ns, with_workers=is_creator)
        return True

    def _document(self, kind: type[Record], what: str) -> Record | None:
        key = layout.attempt_key(self._spool.facts.node, self._spool.facts.number, what)
        try:
            return decode_facts(kind, self._target.read(key), key)
        except StoreError:
            return None
