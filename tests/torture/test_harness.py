"""The torture harness: it counts outcomes, and every probe passes a short run."""

import json
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from tests.torture.__main__ import save
from tests.torture.harness import find_probes, run_all, run_probe
from tests.torture.probe import Outcome, Probe

SEED = 1
SECONDS_PER_PROBE = 2.0


class Scripted:
    """A probe that reports given outcomes."""

    def __init__(self, *outcomes: Outcome, error: Exception | None = None) -> None:
        self.name = "scripted"
        self._outcomes = outcomes
        self._error = error

    def run(self, seed: int, deadline: float) -> Iterator[Outcome]:
        assert monotonic() < deadline
        yield from self._outcomes
        if self._error is not None:
            raise self._error


def test_problems_are_counted_by_kind_with_the_seed_to_repeat_them() -> None:
    probe = Scripted(
        Outcome("healthy", 1),
        Outcome("killed", 2, crash="exit code 1"),
        Outcome("cut", 3, silent_loss="40 steps"),
        Outcome("swapped", 4, untrue_state="completed", crash="traceback"),
    )
    counts = run_probe(probe, 7, monotonic() + 10)
    assert counts.cases == 4
    assert counts.crashes == ["killed (seed 2): exit code 1", "swapped (seed 4): traceback"]
    assert counts.silent_losses == ["cut (seed 3): 40 steps"]
    assert counts.untrue_states == ["swapped (seed 4): completed"]


def test_a_broken_probe_counts_as_a_crash_and_the_next_one_runs() -> None:
    broken, healthy = Scripted(error=OSError("no space")), Scripted(Outcome("healthy", 1))
    first, second = run_all([broken, healthy], 7, 20)
    assert "no space" in first.crashes[0]
    assert (second.cases, second.problems) == (1, [])


def test_the_counts_of_all_probes_are_written_with_totals(tmp_path: Path) -> None:
    results = list(run_all([Scripted(Outcome("killed", 2, crash="signal 9"))], 7, 20))
    save(results, 7, tmp_path / "torture.json")
    document = json.loads((tmp_path / "torture.json").read_text())
    assert (document["seed"], document["cases"], document["crashes"]) == (7, 1, 1)
    assert document["silent_losses"] == document["untrue_states"] == 0
    assert document["probes"][0]["crashes"] == ["killed (seed 2): signal 9"]


@pytest.mark.parametrize("probe", find_probes(), ids=lambda probe: probe.name)
def test_a_small_share_of_every_probe_holds(probe: Probe) -> None:
    counts = run_probe(probe, SEED, monotonic() + SECONDS_PER_PROBE)
    assert counts.problems == []
    assert counts.cases > 0
