"""Custom rules, working and broken, for tests of the engine."""

from collections.abc import Iterator

import sonde
from sonde.read.window import Window
from sonde.rules._rule import State


class LossTooLarge(sonde.Rule):
    """The loss is larger than a limit.

    Why it matters: it is an example.
    What to do: lower it.
    """

    limit: float = 1.0

    needs = (sonde.Losses(),)
    window_steps = 10

    def check(self, window: Window, state: State) -> Iterator[sonde.Finding]:
        for loss in window.losses():
            for step, value in loss:
                state["sum"] = state.get("sum", 0.0) + value
                if value > 10 * self.limit:
                    worse = sonde.Severity.CRITICAL
                    yield self.finding(f"{value:.3g}", step=step, severity=worse, subject="loss")
                elif value > self.limit:
                    evidence = {"sum": state["sum"]}
                    yield self.finding(f"{value:.3g}", step=step, evidence=evidence, subject="loss")


class Broken(sonde.Rule):
    """A rule that fails in its third window."""

    needs = (sonde.Losses(),)
    window_steps = 10

    def check(self, window: Window, state: State) -> Iterator[sonde.Finding]:
        state["windows"] = state.get("windows", 0) + len(window.losses())
        if state["windows"] == 3:
            raise RuntimeError("this rule is broken")
        yield from ()


class Hoarder(sonde.Rule):
    """A rule whose state cannot be saved."""

    needs = (sonde.Losses(),)

    def check(self, window: Window, state: State) -> Iterator[sonde.Finding]:
        state["seen"] = {len(window.losses())}
        yield from ()


class Quiet(sonde.Rule):
    """A rule that needs data that is never recorded."""

    needs = (sonde.Metric("gpu.utilization_percent"), sonde.Scalars("reward"))

    def check(self, window: Window, state: State) -> Iterator[sonde.Finding]:
        window.system("gpu.utilization_percent")
        window.scalars("reward")
        yield from ()


class Endless(sonde.Rule):
    """A rule that never returns."""

    needs = (sonde.Losses(),)

    def check(self, window: Window, state: State) -> Iterator[sonde.Finding]:
        while window.losses():
            state["turns"] = state.get("turns", 0) + 1
        yield from ()
