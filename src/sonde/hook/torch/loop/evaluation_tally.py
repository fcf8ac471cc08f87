"""An evaluation in progress: its series, batches and summed losses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sonde.hook.call_site import Chain, Frame
from sonde.hook.torch.data.loader_iterations import Feed, no_data_set


@dataclass(slots=True, eq=False)
class Series:
    """Evaluations of one data set by one model from one call site."""

    chain: Chain
    frames: list[Frame]
    data_set: Callable[[], Any]
    is_loader: bool
    model: str
    title: str  # set by a framework
    module: Callable[[], Any] = no_data_set  # the evaluated module, if no loader is used
    name: str = ""
    data: str = ""
    is_training_data: bool = False


@dataclass(slots=True, eq=False)
class Tally:
    """An evaluation in progress."""

    series: Series
    feed: Feed | None
    step: int
    record: Callable[["Tally"], None]
    rows: int = 0
    batches: int = 0
    eval_steps: tuple[int, int] | None = None
    sums: dict[str, list[float]] = field(default_factory=dict)  # by loss: weighted sum, weight
    awaited: int = 0  # losses still to be copied from a device
    is_over: bool = False
    metrics: dict[str, float] = field(default_factory=dict)
    hits: dict[str, tuple[int, int]] = field(default_factory=dict)  # by label: correct, incorrect

    def losses(self) -> dict[str, float]:
        """The mean of every loss."""
        return {name: total / weight for name, (total, weight) in self.sums.items() if weight}


@dataclass(slots=True, eq=False)
class Batch:
    """The input of an evaluation pass."""

    series: Series
    feed: Feed | None
    rows: int  # 0: unknown
    training_passes: int = 0  # training passes before it
    tally: Tally | None = None

    def add(self, name: str, loss: float) -> None:
        """Add a loss, weighted by the number of rows."""
        tally = self.tally
        if tally is not None:
            weight = self.rows or 1
            sums = tally.sums.setdefault(name, [0.0, 0.0])
            sums[0] += weight * loss
            sums[1] += weight

    def count(self, hits: Mapping[str, Sequence[int]]) -> None:
        """Add correct and incorrect predictions by label."""
        if self.tally is not None:
            totals = self.tally.hits
            for label, (correct, incorrect) in hits.items():
                before = totals.get(label, (0, 0))
                totals[label] = (before[0] + correct, before[1] + incorrect)

    def await_loss(self, name: str) -> Callable[[float], float]:
        """Return the callback for a loss that is still to be copied from a device."""
        tally = self.tally

        def arrived(loss: float) -> float:
            self.add(name, loss)
            if tally is not None:
                tally.awaited -= 1
                if tally.is_over and not tally.awaited:
                    tally.record(tally)
            return loss

        if tally is not None:
            tally.awaited += 1
        return arrived
