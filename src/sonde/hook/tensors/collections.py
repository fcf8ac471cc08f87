"""Collections: named groups of tensors, when they are recorded, and what of them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sonde.records.schedule import Schedule
from sonde.records.step import Mode
from sonde.records.tensor import (
    ALL_KINDS,
    BUILT_IN_COLLECTIONS,
    COMPUTED_APART,
    FROM_THE_HISTOGRAM,
    Reduction,
    TensorKind,
)
from sonde.settings import CollectionSettings


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is recorded of a tensor beside its statistics, which always are."""

    histogram: bool = False
    values: bool = False
    reductions: frozenset[Reduction] = frozenset()  # those that the statistics cannot give

    def __or__(self, other: "Wanted") -> "Wanted":
        return Wanted(
            self.histogram or other.histogram,
            self.values or other.values,
            self.reductions | other.reductions,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """A group of tensors that is recorded together."""

    name: str
    kinds: frozenset[TensorKind]
    schedules: Mapping[Mode, Schedule]
    wanted: Wanted = Wanted()
    include: re.Pattern[str] | None = None
    is_budgeted: bool = False  # recorded as often as the budget allows; others exactly when due

    def holds(self, name: str, kinds: Iterable[TensorKind]) -> bool:
        """Whether a tensor of that name and those kinds belongs to it."""
        if self.kinds.isdisjoint(kinds):
            return False
        return self.include is None or self.include.search(name) is not None


def asked_for(settings: CollectionSettings) -> Collection:
    """The collection that a person asked for."""
    reductions = frozenset(settings.reductions)
    return Collection(
        settings.name,
        BUILT_IN_COLLECTIONS.get(settings.name, ALL_KINDS),
        settings.schedules,
        Wanted(
            histogram=settings.histogram or bool(reductions & FROM_THE_HISTOGRAM),
            values=settings.values,
            reductions=reductions & COMPUTED_APART,
        ),
        None if settings.include is None else re.compile(settings.include),
    )


def budgeted(name: str, wanted: Wanted) -> Collection:
    """A built-in collection whose training steps are recorded as the budget allows."""
    schedules = {Mode.TRAIN: Schedule()}
    return Collection(name, BUILT_IN_COLLECTIONS[name], schedules, wanted, is_budgeted=True)
