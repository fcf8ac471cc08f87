"""The lease that ensures that only one process runs the rules of a job.

It is a document that its holder renews. It does not rely on conditional writes, which some object
stores ignore: a process that takes the lease reads it again before using it and at every renewal.
A holder on another machine is considered dead after missed renewals, by the local clock.
"""

import os
from dataclasses import dataclass, replace

from sonde.clock import Clock
from sonde.errors import DamagedError, KeyMissingError
from sonde.records.job import Launcher
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.layout import rules_key
from sonde.store.presence import is_alive, this_process
from sonde.store.removal import remove_remains

LEASE = rules_key("lease")

_RENEW_SECONDS = 5.0
_MISSED_RENEWALS = 3
_SLACK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Lease:
    """The process that runs the rules of a job."""

    holder: str  # unique random ID
    node: str
    process: Launcher
    every_seconds: float  # how often it is renewed
    renewals: int = 0
    is_released: bool = False


class Leasing:
    """Checks, takes and renews the lease of a job."""

    def __init__(self, backend: Backend, clock: Clock, node: str) -> None:
        self._backend = backend
        self._clock = clock
        every = max(_RENEW_SECONDS, backend.flush_seconds)
        self._own_lease = Lease(os.urandom(8).hex(), node, this_process(), every)
        self._observed: Lease | None = None
        self._observed_seconds = 0.0
        self._renew_due = 0.0

    def is_free(self) -> bool:
        """Whether the lease is free; a silent holder on another machine expires after a while."""
        lease = self._read()
        if lease is None or lease.is_released:
            return True
        alive = is_alive(lease.process)
        if alive is not None:
            return not alive
        if lease != self._observed:
            self._observed, self._observed_seconds = lease, self._clock.seconds()
        silent_seconds = self._clock.seconds() - self._observed_seconds
        return silent_seconds > _SLACK_SECONDS + _MISSED_RENEWALS * lease.every_seconds

    def take(self) -> None:
        """Claim a free lease; it is only held after `is_held` confirms it a moment later."""
        self._write(self._own_lease)

    def is_held(self) -> bool:
        """Whether this process holds the lease; renews it when due."""
        lease = self._read()
        if lease is None or lease.holder != self._own_lease.holder:
            return False
        if self._clock.seconds() >= self._renew_due:
            self._write(replace(self._own_lease, renewals=lease.renewals + 1))
        return True

    def release(self) -> None:
        """Release the lease, so that the next process need not wait."""
        lease = self._read()
        if lease is not None and lease.holder == self._own_lease.holder:
            self._write(replace(lease, is_released=True))

    def release_dead(self) -> None:
        """Release the lease of a dead process on this machine."""
        lease = self._read()
        if lease is not None and not lease.is_released and is_alive(lease.process) is False:
            self._write(replace(lease, is_released=True))

    @property
    def holder(self) -> str:
        """A description of the holder."""
        lease = self._read()
        return "no process" if lease is None else f"process {lease.process.pid} on {lease.node}"

    def _read(self) -> Lease | None:
        try:
            return decode_facts(Lease, self._backend.read(LEASE), LEASE)
        except (KeyMissingError, DamagedError):
            return None

    def _write(self, lease: Lease) -> None:
        self._backend.write(LEASE, encode_facts(lease, LEASE))
        remove_remains(self._backend)
        self._renew_due = self._clock.seconds() + lease.every_seconds
