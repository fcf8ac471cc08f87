"""Run rules on a running job every two seconds until it ends.

Failures here never affect the job. If the store is unavailable, the next poll is made as usual. A
watcher that is killed leaves its progress in the store, and the next one continues from there.
"""

import threading
from collections.abc import Callable, Sequence

from sonde.clock import Clock
from sonde.engine.runner import Recorder
from sonde.errors import StoreError
from sonde.guard import log
from sonde.records.finding import Episode
from sonde.store.backends import Backend
from sonde.store.layout import JOB
from sonde.store.lease import Leasing
from sonde.store.removal import remove_remains

# Called at every poll with the episodes that opened, continued or recovered, if any. After a
# restart, receives all open episodes again, so it must remember which ones it has handled.
Subscriber = Callable[[Sequence[Episode]], None]

# As often as local writers flush: a finding is published within 5 s of its data being stored.
_POLL_SECONDS = 2.0
_MAX_PAUSE_SECONDS = 30.0
_MAX_SHARE = 0.03  # of a core; more expensive polls become less frequent
_VANISHED_SECONDS = 60.0  # after this, a removed job is considered gone


class Watcher:
    """Runs rules on a growing job while holding its lease."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        leasing: Leasing,
        recorder: Callable[[], Recorder],
        take: Subscriber,
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._leasing = leasing
        self._open_recorder = recorder  # after taking the lease, so that saved progress is current
        self._take = take
        self._never_set = threading.Event()

    def watch(self, should_stop: Callable[[], bool], cpu_seconds: Callable[[], float]) -> bool:
        """Run rules until the job ends or `should_stop`; return whether the lease could be taken.

        Args:
            should_stop: Whether to stop after one more poll.
            cpu_seconds: The CPU time of this process so far.
        """
        if not self._acquire_lease():
            return False
        recorder = self._open_recorder()
        self._take(recorder.runner.open_episodes)
        last_seen_seconds = self._clock.seconds()
        while self._holds_lease():
            is_last, cost = should_stop(), cpu_seconds()
            if self._exists():
                last_seen_seconds = self._clock.seconds()
                self._poll(recorder)
                self._remove_leftovers()
            elif self._clock.seconds() - last_seen_seconds > _VANISHED_SECONDS:
                return True
            if is_last or recorder.runner.is_over:
                self._release()
                return True
            self._pause(should_stop, cpu_seconds() - cost)
        return True

    def _acquire_lease(self) -> bool:
        if not self._leasing.is_free():
            return False
        self._leasing.take()
        self._clock.wait(self._never_set, self._backend.poll_seconds)
        return self._leasing.is_held()

    def _holds_lease(self) -> bool:
        try:
            return self._leasing.is_held()
        except StoreError:  # no other process can take it, either
            return True

    def _exists(self) -> bool:
        try:
            return self._backend.exists(JOB)
        except StoreError:
            return False

    def _poll(self, recorder: Recorder) -> None:
        try:
            for changed in recorder.batches():
                self._take(changed)
                if not self._holds_lease():
                    return
        except StoreError:
            log.warning("polling the job failed; will retry", exc_info=True)

    def _remove_leftovers(self) -> None:
        """Delete files written to a job that has been removed in the meantime."""
        try:
            remove_remains(self._backend)
        except StoreError:  # an unreachable job may still exist
            log.debug("cannot check whether the job was removed", exc_info=True)

    def _release(self) -> None:
        try:
            self._leasing.release()
        except StoreError:  # the next watcher waits until it expires
            log.warning("the lease could not be released", exc_info=True)

    def _pause(self, should_stop: Callable[[], bool], spent_seconds: float) -> None:
        pause = max(_POLL_SECONDS, self._backend.poll_seconds, spent_seconds / _MAX_SHARE)
        due = self._clock.seconds() + min(pause, _MAX_PAUSE_SECONDS)
        while self._clock.seconds() < due and not should_stop():
            self._clock.wait(self._never_set, self._backend.poll_seconds)
