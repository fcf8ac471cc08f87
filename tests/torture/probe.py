"""The interface of torture probes.

A module of this folder that defines `PROBES: tuple[Probe, ...]` is found by the harness
(`python -m tests.torture`). A probe yields one outcome per case and checks the deadline between
cases; everything random comes from the seed, so that a failing case can be run again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Outcome:
    """What happened in one case. None in all three fields: the promise held.

    Args:
        case: What was done, in a few words, like "bit flipped in tensors.json".
        seed: The number that makes the case happen again.
        crash: An uncaught exception, a signal, a 500, a hang, a changed exit code.
        silent_loss: Data that is lost without a report.
        untrue_state: A state or a number that is shown and is not true.
    """

    case: str
    seed: int
    crash: str | None = None
    silent_loss: str | None = None
    untrue_state: str | None = None

    @property
    def is_held(self) -> bool:
        """Whether nothing went wrong."""
        return self.crash is None and self.silent_loss is None and self.untrue_state is None


class Probe(Protocol):
    """One kind of torture."""

    @property
    def name(self) -> str:
        """Its name on the command line, a single word."""

    def run(self, seed: int, deadline: float) -> Iterator[Outcome]:
        """Yield one outcome per case until the cases are done or `time.monotonic()` passes."""
