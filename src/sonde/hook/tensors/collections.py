"""Collections: named groups of tensors, with their schedules and what is recorded of them."""

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
class TensorRequest:
    """What to record of a tensor in addition to its statistics."""

    histogram: bool = False
    values: bool = False
    reductions: frozenset[Reduction] = frozenset()  # those that cannot be derived from statistics

    def __or__(self, extra: "TensorRequest") -> "TensorRequest":
        return TensorRequest(
            self.histogram or extra.histogram,
            self.values or extra.values,
            self.reductions | extra.reductions,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """A group of tensors that are recorded together."""

    name: str
    kinds: frozenset[TensorKind]
    schedules: Mapping[Mode, Schedule]
    request: TensorRequest = TensorRequest()
    include: re.Pattern[str] | None = None
    is_budgeted: bool = False  # recorded as the budget allows, instead of exactly when due

    def holds(self, name: str, kinds: Iterable[TensorKind]) -> bool:
        """Whether a tensor with this name and these kinds belongs to the collection."""
        if self.kinds.isdisjoint(kinds):
            return False
        return self.include is None or self.include.search(name) is not None


def request_for_reductions(reductions: frozenset[Reduction]) -> TensorRequest:
    """What to record so that these reductions can be read."""
    return TensorRequest(
        histogram=bool(reductions & FROM_THE_HISTOGRAM), reductions=reductions & COMPUTED_APART
    )


def requested_collection(settings: CollectionSettings) -> Collection:
    """The collection that the user's settings request."""
    return Collection(
        settings.name,
        BUILT_IN_COLLECTIONS.get(settings.name, ALL_KINDS),
        settings.schedules,
        TensorRequest(histogram=settings.histogram, values=settings.values)
        | request_for_reductions(frozenset(settings.reductions)),
        None if settings.include is None else re.compile(settings.include),
    )


def budgeted_collection(name: str, request: TensorRequest) -> Collection:
    """A built-in collection that is recorded in training as the budget allows."""
    schedules = {Mode.TRAIN: Schedule()}
    return Collection(name, BUILT_IN_COLLECTIONS[name], schedules, request, is_budgeted=True)
