"""The plan of a training process: what is due at a step, and what is wanted of each tensor."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from sonde.hook.tensors.collections import Collection, Wanted, asked_for, budgeted
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode
from sonde.records.tensor import AT_EVERY_STEP, BUILT_IN_COLLECTIONS, TensorKind
from sonde.settings import HookSettings

Kinds = tuple[TensorKind, ...] | frozenset[TensorKind]
Due = tuple[Collection, ...]

_SAVED = (TensorKind.SAVED,)
_SPARSE = (
    *("inputs", "outputs", "activations", "relu_input", "relu_output", "tanh_input"),
    *("sigmoid_input", "predictions", "labels"),
)
_NEEDED_BY_DEFAULT = frozenset(_SPARSE) - {"activations"}
_OF_EVALUATIONS = (ObservationKind.CLASS_HITS, ObservationKind.BATCH_HASH)
_EVERYTHING = Wanted(histogram=True, values=True)
_MOST_REMEMBERED = 100_000  # scripts may invent a name for every step


class Plan:
    """What the hook keeps.

    Collections that a person asked for are exact: due just when their schedules say. Those that
    are recorded anyway are budgeted: due at every training step, and the hook leaves steps out to
    stay within the overhead budget. Those that only rules need are sparse: due when training is
    looked at.
    """

    def __init__(self, settings: HookSettings) -> None:
        self.follow(settings)

    def follow(self, settings: HookSettings) -> None:
        """From now on these settings hold."""
        exact = [asked_for(one) for one in settings.collections]
        self._exact = {
            mode: [(one.schedules[mode].is_due, one) for one in exact if mode in one.schedules]
            for mode in Mode
        }
        self._needed = settings.needed if settings.looks else ()
        routine = [one for one in AT_EVERY_STEP if one in settings.statistics or self._asks(one)]
        self._plain: Due = tuple(budgeted(name, Wanted()) for name in routine)
        self._with_histograms: Due = tuple(
            budgeted(name, Wanted(histogram=True)) for name in routine
        )
        needed = [one for one in _SPARSE if self._asks(one)]
        if self._needed is None:
            needed = [one for one in _SPARSE if one in _NEEDED_BY_DEFAULT]
        self.sparse: Due = tuple(budgeted(name, Wanted()) for name in needed)
        self._histogram_every = settings.histogram_every
        self._collections: Due = (*exact, *self._plain)
        units = {TensorKind.RELU_OUTPUT} if self.needs(ObservationKind.UNIT_ACTIVITY) else ()
        self._sparse_kinds = frozenset((*units, *(k for one in self.sparse for k in one.kinds)))
        self._kinds = self._sparse_kinds.union(*(one.kinds for one in self._collections))
        self._remembered: dict[tuple[str, Kinds, Due], Wanted | None] = {}

    def due(self, mode: Mode, step: int, since: int | None = None) -> Due:
        """All that is due at a step, exact and budgeted.

        `since` is the last step whose budgeted collections were recorded (by default the one
        before): a histogram that fell due between the two is due now.
        """
        exact = self.due_exactly(mode, step)
        if mode != Mode.TRAIN:
            return exact
        every = self._histogram_every
        before = step - 1 if since is None else since
        is_histogram_due = every and step // every > before // every
        return exact + (self._with_histograms if is_histogram_due else self._plain)

    def _asks(self, what: str) -> bool:
        needed = self._needed or ()
        is_one_of_all = "all" in needed and what in BUILT_IN_COLLECTIONS
        return is_one_of_all or any(fnmatchcase(what, pattern) for pattern in needed)

    def needs(self, kind: str) -> bool:
        """Whether a rule needs observations of a kind that are found by looking."""
        return self._needed is None or self._asks(kind)

    def looks_at(self, kinds: Kinds) -> bool:
        """Whether a rule needs tensors of any of these kinds when training is looked at."""
        return not self._sparse_kinds.isdisjoint(kinds)

    @property
    def evaluations_are_needed(self) -> bool:
        """Whether a rule needs what is found by looking at evaluations."""
        return any(self.needs(kind) for kind in _OF_EVALUATIONS)

    @property
    def has_looks(self) -> bool:
        """Whether anything is looked at now and then."""
        return self.has_routine or self._needed is None or bool(self._needed)

    @property
    def has_routine(self) -> bool:
        """Whether anything is recorded as often as the budget allows."""
        return bool(self._plain)

    def asks_for(self, mode: Mode) -> bool:
        """Whether a person asked for anything of the steps of a mode."""
        return bool(self._exact[mode])

    def due_exactly(self, mode: Mode, step: int) -> Due:
        """What is due at a step whatever it costs, because a person asked for it."""
        return tuple([one for is_due, one in self._exact[mode] if is_due(step)])

    def wants(self, kind: TensorKind) -> bool:
        """Whether tensors of a kind may ever be wanted, by some name."""
        return kind in self._kinds

    def wants_tensor(self, name: str, kinds: Kinds) -> bool:
        """Whether a tensor will ever be wanted."""
        return any(one.holds(name, kinds) for one in self._collections)

    def is_named(self, name: str, kinds: Kinds) -> bool:
        """Whether a person asked for a tensor by its name, with a regular expression."""
        return any(one.include and one.holds(name, kinds) for one in self._collections)

    def wanted(self, name: str, kinds: Kinds, due: Due) -> Wanted | None:
        """What is wanted of a tensor by those of the due collections that hold it."""
        key = (name, kinds, due)
        try:
            return self._remembered[key]
        except KeyError:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            return self._remembered.setdefault(key, _merged(name, kinds, due))

    def wanted_when_saved(self, name: str, at: tuple[str, int]) -> Wanted | None:
        """What is wanted of a tensor that the script itself saves: all of it, unless it is planned.

        Args:
            name: The tensor's name.
            at: The mode and the number of the step.
        """
        if not self.wants_tensor(name, _SAVED):
            return _EVERYTHING
        return self.wanted(name, _SAVED, self.due_exactly(Mode(at[0]), at[1]))

    def collections_of(self, name: str, kinds: Kinds) -> tuple[str, ...]:
        """All collections that a tensor belongs to, asked for or not, by name."""
        built_in = [one for one, held in BUILT_IN_COLLECTIONS.items() if not held.isdisjoint(kinds)]
        own = [one.name for one in self._collections if one.holds(name, kinds)]
        return tuple(dict.fromkeys((*built_in, *own)))


def _merged(name: str, kinds: Kinds, due: Iterable[Collection]) -> Wanted | None:
    merged: Wanted | None = None
    for collection in due:
        if collection.holds(name, kinds):
            merged = collection.wanted if merged is None else merged | collection.wanted
    return merged
