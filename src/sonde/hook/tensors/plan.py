"""The recording plan: which collections are due at a step, and what to record of each tensor."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from sonde.hook.steps import StepId
from sonde.hook.tensors.collections import (
    Collection,
    TensorRequest,
    budgeted_collection,
    request_for_reductions,
    requested_collection,
)
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode
from sonde.records.tensor import AT_EVERY_STEP, BUILT_IN_COLLECTIONS, Reduction, TensorKind
from sonde.settings import HookSettings

Kinds = tuple[TensorKind, ...] | frozenset[TensorKind]
Due = tuple[Collection, ...]

_SAVED = (TensorKind.SAVED,)
_SPARSE = (
    *("inputs", "outputs", "activations", "relu_input", "relu_output", "tanh_input"),
    *("sigmoid_input", "predictions", "labels"),
)
_NEEDED_BY_DEFAULT = frozenset(_SPARSE) - {"activations"}
_EVALUATION_KINDS = (ObservationKind.CLASS_HITS, ObservationKind.BATCH_HASH)
_EVERYTHING = TensorRequest(histogram=True, values=True)
_MAX_CACHED = 100_000  # scripts may use a new name at every step


class Plan:
    """What the hook records.

    Collections that the user requests are exact: due at the steps of their schedules. Collections
    that are recorded by default are budgeted: due at every training step, of which the hook skips
    some to stay within the overhead budget. Collections that only rules need are sparse: due at
    close inspections.
    """

    def __init__(self, settings: HookSettings) -> None:
        self.apply(settings)

    def apply(self, settings: HookSettings) -> None:
        """Use these settings from now on."""
        exact = [requested_collection(requested) for requested in settings.collections]
        self._exact = {
            mode: [
                (collection.schedules[mode].is_due, collection)
                for collection in exact
                if mode in collection.schedules
            ]
            for mode in Mode
        }
        self._needed = settings.needed if settings.inspections else ()
        routine = [
            name for name in AT_EVERY_STEP if name in settings.statistics or self._is_needed(name)
        ]
        self._plain: Due = tuple(budgeted_collection(name, TensorRequest()) for name in routine)
        self._with_histograms: Due = tuple(
            budgeted_collection(name, TensorRequest(histogram=True)) for name in routine
        )
        needed = [name for name in _SPARSE if self._is_needed(name)]
        if self._needed is None:
            needed = [name for name in _SPARSE if name in _NEEDED_BY_DEFAULT]
        self.sparse: Due = tuple(budgeted_collection(name, TensorRequest()) for name in needed)
        self._histogram_every = settings.histogram_every
        self._collections: Due = (*exact, *self._plain)
        units = {TensorKind.RELU_OUTPUT} if self.needs(ObservationKind.UNIT_ACTIVITY) else ()
        self._sparse_kinds = frozenset(
            (*units, *(kind for collection in self.sparse for kind in collection.kinds))
        )
        self._kinds = self._sparse_kinds.union(
            *(collection.kinds for collection in self._collections)
        )
        self._requests: dict[tuple[str, Kinds, Due], TensorRequest | None] = {}  # cache

    def due(self, mode: Mode, step: int, since: int | None = None) -> Due:
        """The collections that are due at a step, exact and budgeted.

        `since` is the last step whose budgeted collections were recorded, by default the previous
        one. A histogram that became due between the two is due now.
        """
        exact = self.due_exactly(mode, step)
        if mode != Mode.TRAIN:
            return exact
        every = self._histogram_every
        previous = step - 1 if since is None else since
        is_histogram_due = every and step // every > previous // every
        return exact + (self._with_histograms if is_histogram_due else self._plain)

    def _is_needed(self, name: str) -> bool:
        needed = self._needed or ()
        is_in_all = "all" in needed and name in BUILT_IN_COLLECTIONS
        return is_in_all or any(fnmatchcase(name, pattern) for pattern in needed)

    def needs(self, kind: str) -> bool:
        """Whether a rule needs observations of this kind from close inspections."""
        return self._needed is None or self._is_needed(kind)

    def inspects(self, kinds: Kinds) -> bool:
        """Whether a rule needs tensors of any of these kinds from close inspections."""
        return not self._sparse_kinds.isdisjoint(kinds)

    @property
    def evaluations_are_needed(self) -> bool:
        """Whether a rule needs observations of evaluations."""
        return any(self.needs(kind) for kind in _EVALUATION_KINDS)

    @property
    def has_inspections(self) -> bool:
        """Whether close inspections have anything to record."""
        return self.has_routine or self._needed is None or bool(self._needed)

    @property
    def has_routine(self) -> bool:
        """Whether any collection is recorded as the budget allows."""
        return bool(self._plain)

    def has_requests_for(self, mode: Mode) -> bool:
        """Whether the user requests any collection in this mode."""
        return bool(self._exact[mode])

    def due_exactly(self, mode: Mode, step: int) -> Due:
        """The collections that the user requests for a step, regardless of the budget."""
        return tuple([collection for is_due, collection in self._exact[mode] if is_due(step)])

    def may_record(self, kind: TensorKind) -> bool:
        """Whether any tensor of this kind may be recorded."""
        return kind in self._kinds

    def records_tensor(self, name: str, kinds: Kinds) -> bool:
        """Whether a tensor belongs to any recorded collection."""
        return any(collection.holds(name, kinds) for collection in self._collections)

    def is_named(self, name: str, kinds: Kinds) -> bool:
        """Whether the user requests a tensor by a regular expression on its name."""
        return any(
            collection.include and collection.holds(name, kinds) for collection in self._collections
        )

    def request_for(self, name: str, kinds: Kinds, due: Due) -> TensorRequest | None:
        """What to record of a tensor for the due collections, or None if it belongs to none."""
        key = (name, kinds, due)
        try:
            return self._requests[key]
        except KeyError:
            if len(self._requests) >= _MAX_CACHED:
                self._requests.clear()
            return self._requests.setdefault(key, _merge(name, kinds, due))

    def request_when_saved(
        self, name: str, at: StepId, reductions: frozenset[Reduction] | None = None
    ) -> TensorRequest | None:
        """What to record of a tensor that the script saves, unless it is planned.

        Args:
            name: The tensor's name.
            at: The mode and the number of the step.
            reductions: To record instead of everything.
        """
        if not self.records_tensor(name, _SAVED):
            return _EVERYTHING if reductions is None else request_for_reductions(reductions)
        return self.request_for(name, _SAVED, self.due_exactly(Mode(at[0]), at[1]))

    def collections_of(self, name: str, kinds: Kinds) -> tuple[str, ...]:
        """Names of all collections that a tensor belongs to, recorded or not."""
        built_in = [
            collection
            for collection, members in BUILT_IN_COLLECTIONS.items()
            if not members.isdisjoint(kinds)
        ]
        recorded = [
            collection.name for collection in self._collections if collection.holds(name, kinds)
        ]
        return tuple(dict.fromkeys((*built_in, *recorded)))


def _merge(name: str, kinds: Kinds, due: Iterable[Collection]) -> TensorRequest | None:
    merged: TensorRequest | None = None
    for collection in due:
        if collection.holds(name, kinds):
            merged = collection.request if merged is None else merged | collection.request
    return merged
