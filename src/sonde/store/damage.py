"""The damage ledger of an opened job: what readers found missing or damaged, file by file.

One ledger per opened job. Every reader reports to it while it reads; whoever shows the job looks at
it afterwards. So nothing that could not be read is ever taken for nothing there.
"""

import threading
from collections.abc import Container
from dataclasses import dataclass

from sonde.store.owned import describe, start_of

DAMAGED, MISSING = "damaged", "missing"


@dataclass(frozen=True, slots=True)
class Damage:
    """A file, or a part of one, that could not be read."""

    key: str
    text: str
    start_ns: int | None = None  # from when to when it was recorded, where that is known
    end_ns: int | None = None
    reason: str = DAMAGED

    @property
    def content(self) -> str:
        """What the file holds, for people."""
        return describe(self.key)


class DamageLedger:
    """Damages in the order in which they were found, each once; for all threads."""

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
        """Notes a damage; the same again changes nothing."""
        start_ns = start_of(key) if times_ns[0] is None else times_ns[0]
        damage = Damage(key, text, start_ns, times_ns[1], reason)
        with self._lock:
            self._damages.setdefault((key, text), damage)

    def clear(self, key: str) -> None:
        """Forgets a file that could be read again after all."""
        with self._lock:
            for known in [one for one in self._damages if one[0] == key]:
                del self._damages[known]

    def keep_only(self, folder: str, keys: Container[str]) -> None:
        """Forgets damaged files of a folder that were replaced since, as merging does."""
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
        """The same as sentences."""
        return [one.text for one in self.damages]
