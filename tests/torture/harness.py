"""Find all probes, run them within a time limit, and count their outcomes."""

import importlib
import pkgutil
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic

import tests.torture
from tests.torture.probe import Outcome, Probe


@dataclass
class Counts:
    """The number of cases of a probe, and their problems."""

    probe: str
    seed: int
    seconds: float = 0.0
    cases: int = 0
    crashes: list[str] = field(default_factory=list)
    silent_losses: list[str] = field(default_factory=list)
    untrue_states: list[str] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count one case."""
        self.cases += 1
        prefix = f"{outcome.case} (seed {outcome.seed}): "
        if outcome.crash is not None:
            self.crashes.append(prefix + outcome.crash)
        if outcome.silent_loss is not None:
            self.silent_losses.append(prefix + outcome.silent_loss)
        if outcome.untrue_state is not None:
            self.untrue_states.append(prefix + outcome.untrue_state)

    @property
    def problems(self) -> list[str]:
        """All problems."""
        return [*self.crashes, *self.silent_losses, *self.untrue_states]


def find_probes() -> list[Probe]:
    """Return all probes by name; modules list them as `PROBES`."""
    names = [module.name for module in pkgutil.iter_modules(tests.torture.__path__)]
    modules = [
        importlib.import_module(f"tests.torture.{name}")
        for name in names
        if not name.startswith(("test_", "__"))
    ]
    probes = [probe for module in modules for probe in getattr(module, "PROBES", ())]
    return sorted(probes, key=lambda probe: probe.name)


def run_probe(probe: Probe, seed: int, deadline: float) -> Counts:
    """Run one probe; an exception of the probe itself counts as a crash."""
    counts, start = Counts(probe.name, seed), monotonic()
    try:
        for outcome in probe.run(seed, deadline):
            counts.add(outcome)
    except Exception:  # noqa: BLE001 - a probe that breaks is reported, and the others run
        counts.crashes.append(f"probe {probe.name} (seed {seed}): {traceback.format_exc()}")
    counts.seconds = monotonic() - start
    return counts


def run_all(probes: Sequence[Probe], seed: int, seconds: float) -> Iterator[Counts]:
    """Run the probes in turn; each gets an equal share of the remaining time."""
    end = monotonic() + seconds
    for index, probe in enumerate(probes):
        share = (end - monotonic()) / (len(probes) - index)
        yield run_probe(probe, seed, monotonic() + max(share, 1.0))
