"""The interface of torture probes.

A module of this folder that defines `PROBES: tuple[Probe, ...]` is found by the harness
(`python -m tests.torture`). A probe yields one outcome per case and checks the deadline between
cases. All randomness comes from the seed, so that a failing case can be repeated.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Outcome:
    """The result of one case; it passed if all three problem fields are None.

    Args:
        case: A short description, such as "bit flipped in tensors.json".
        seed: The random seed that reproduces the case.
        crash: An uncaught exception, a signal, a 500, a hang, a changed exit code.
        silent_loss: Data that is lost without a report.
        untrue_state: A wrong state or number.
    """

    case: str
    seed: int
    crash: str | None = None
    silent_loss: str | None = None
    untrue_state: str | None = None

    @property
    def is_held(self) -> bool:
        """Whether the case passed."""
        return self.crash is None and self.silent_loss is None and self.untrue_state is None


class Probe(Protocol):
    """A kind of randomized test."""

    @property
    def name(self) -> str:
        """The name on the command line, a single word."""

    def run(self, seed: int, deadline: float) -> Iterator[Outcome]:
        """Yield one outcome per case until the cases are done or `time.monotonic()` passes."""
