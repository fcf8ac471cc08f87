"""The damage ledger of an opened job: missing and damaged files found by readers.

Every reader of a job reports to its ledger, and every view of the job shows it. So unreadable data
is never mistaken for absent data.
"""

import threading
from collections.abc import Container
from dataclasses import dataclass

from sonde.store.owned import describe, start_of

DAMAGED, MISSING = "damaged", "missing"


@dataclass(frozen=True, slots=True)
class Damage:
    """A file, or a section of one, that could not be read."""

    key: str
    text: str
    start_ns: int | None = None  # time range of the lost data, if known
    end_ns: int | None = None
    reason: str = DAMAGED

    @property
    def content(self) -> str:
        """A description of the file's content."""
        return describe(self.key)


class DamageLedger:
    """A thread-safe list of distinct damages, in order of discovery."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._damages: dict[tuple[str, str], Damage] = {}

    def report(
        self,
        key: str,
        text: str,
        times_ns: tuple[int | None, int | None] = (None, None),
        reason: str = DAMAGED,
    ) -> None:
        """Add a damage, unless it is already listed."""
        start_ns = start_of(key) if times_ns[0] is None else times_ns[0]
        damage = Damage(key, text, start_ns, times_ns[1], reason)
        with self._lock:
            self._damages.setdefault((key, text), damage)

    def clear(self, key: str) -> None:
        """Remove the damages of a file that is readable again."""
        with self._lock:
            for damage_key in [entry for entry in self._damages if entry[0] == key]:
                del self._damages[damage_key]

    def keep_only(self, folder: str, keys: Container[str]) -> None:
        """Remove damaged files of a folder that no longer exist, for example after merging."""
        with self._lock:
            for key, text in list(self._damages):
                is_inside = key.startswith(f"{folder}/")
                is_damaged = self._damages[key, text].reason == DAMAGED
                if is_inside and is_damaged and key not in keys:
                    del self._damages[key, text]

    @property
    def damages(self) -> tuple[Damage, ...]:
        """Everything found so far."""
        with self._lock:
            return tuple(self._damages.values())

    @property
    def texts(self) -> list[str]:
        """The messages of all damages."""
        return [damage.text for damage in self.damages]
