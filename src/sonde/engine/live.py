"""Rules beside a job that runs: a look every other second, until it is over.

Whatever happens here, the job does not notice. Where the store cannot be reached the next look is
made as usual; a watcher that is killed leaves its place in the store, and the next one goes on from
there.
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

# Is told at every look which episodes opened, went on or recovered, if any; after a restart, every
# one that is open. Whoever acts on them remembers what was done.
Subscriber = Callable[[Sequence[Episode]], None]

# Local flushes are 2 s apart; what a finding is made of is in the store 5 s earlier at most.
_LOOK_SECONDS = 2.0
_LONGEST_PAUSE_SECONDS = 30.0
_MOST_SHARE = 0.03  # of a core, for looks; where they cost more they become rarer
_VANISHED_SECONDS = 60.0  # after that a job whose folder was removed does not come back


class Watcher:
    """Looks again and again at a job that grows, as the one who holds its lease."""

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
        self._open_recorder = recorder  # when the lease is ours: what was kept before counts
        self._take = take
        self._never = threading.Event()

    def watch(self, is_enough: Callable[[], bool], cpu_seconds: Callable[[], float]) -> bool:
        """Watches until the job is over, or it is enough; whether it was ours to watch.

        Args:
            is_enough: Whether to leave after one more look, to whoever comes next.
            cpu_seconds: What this process has cost so far.
        """
        if not self._obtain():
            return False
        recorder = self._open_recorder()
        self._take(recorder.runner.open_episodes)
        seen_seconds = self._clock.seconds()
        while self._is_ours():
            is_last, cost = is_enough(), cpu_seconds()
            if self._is_there():
                seen_seconds = self._clock.seconds()
                self._look(recorder)
                self._tidy()
            elif self._clock.seconds() - seen_seconds > _VANISHED_SECONDS:
                return True
            if is_last or recorder.runner.is_over:
                self._let_go()
                return True
            self._pause(is_enough, cpu_seconds() - cost)
        return True

    def _obtain(self) -> bool:
        if not self._leasing.is_free():
            return False
        self._leasing.take()
        self._clock.wait(self._never, self._backend.poll_seconds)
        return self._leasing.is_held()

    def _is_ours(self) -> bool:
        try:
            return self._leasing.is_held()
        except StoreError:  # nobody can take it now either
            return True

    def _is_there(self) -> bool:
        try:
            return self._backend.exists(JOB)
        except StoreError:
            return False

    def _look(self, recorder: Recorder) -> None:
        try:
            for changed in recorder.parts():
                self._take(changed)
                if not self._is_ours():
                    return
        except StoreError:
            log.warning("a look at the job failed; the next one is made as usual", exc_info=True)

    def _tidy(self) -> None:
        """Removes what was written into a job that somebody has removed meanwhile."""
        try:
            remove_remains(self._backend)
        except StoreError:  # that it cannot be reached does not mean that it is gone
            log.debug("whether the job was removed is not known", exc_info=True)

    def _let_go(self) -> None:
        try:
            self._leasing.release()
        except StoreError:  # the next one has to wait until it is stale
            log.warning("the lease could not be released", exc_info=True)

    def _pause(self, is_enough: Callable[[], bool], spent_seconds: float) -> None:
        pause = max(_LOOK_SECONDS, self._backend.poll_seconds, spent_seconds / _MOST_SHARE)
        due = self._clock.seconds() + min(pause, _LONGEST_PAUSE_SECONDS)
        while self._clock.seconds() < due and not is_enough():
            self._clock.wait(self._never, self._backend.poll_seconds)
