"""What the hook inside training keeps: statistics, collections, and at which steps."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from sonde.errors import UsageError
from sonde.records.profile import Window
from sonde.records.schedule import Schedule
from sonde.records.step import Mode
from sonde.records.tensor import AT_EVERY_STEP, BUILT_IN_COLLECTIONS, Reduction
from sonde.settings.checks import (
    Key,
    flag,
    listed,
    one_of,
    percent,
    read_table,
    regular_expression,
    text,
    whole_number,
)
from sonde.settings.profile import DEFAULT_WINDOWS, profile_table, read_profile_table

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_WHOLE_NUMBER = re.compile(r"-?[0-9]+")
# a comma inside a regular expression, as in x{1,3}, is not followed by a key
_NEXT_KEY = re.compile(r",(?=[a-z_.]+(?:=|,|$))")


@dataclass(frozen=True, slots=True)
class CollectionSettings:
    """One collection that a person asked for: which tensors, at which steps, and what of them."""

    name: str
    include: str | None = None  # a regular expression that is searched for in tensor names
    schedules: Mapping[Mode, Schedule] = field(
        default_factory=lambda: dict.fromkeys(Mode, Schedule())
    )
    reductions: tuple[Reduction, ...] = ()
    values: bool = False
    histogram: bool = False

    def to_table(self) -> dict[str, object]:
        """As one would write it in a configuration file."""
        schedules = {mode.value: _schedule_table(one) for mode, one in self.schedules.items()}
        flags = {"values": self.values, "histogram": self.histogram}
        include = {} if self.include is None else {"include": self.include}
        reductions = {"reductions": list(self.reductions)}
        return {"name": self.name, **include, **schedules, **reductions, **flags}


def _schedule_table(schedule: Schedule) -> dict[str, object]:
    if schedule.steps is not None:
        return {"steps": sorted(schedule.steps)}
    end = {} if schedule.end is None else {"end": schedule.end}
    return {"every": schedule.every, "start": schedule.start, **end}


def _name(value: object, key: str) -> str:
    name = text(value, key)
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{key} = {name!r} cannot be the name of a collection. "
            "Allowed: letters, digits, '.', '_', '-', the first one a letter."
        )
    return name


def _reduction(value: object, key: str) -> Reduction:
    return Reduction(one_of(Reduction)(value, key))


def _steps(value: object, key: str) -> frozenset[int]:
    steps = frozenset(listed(whole_number(0))(value, key))
    if not steps:
        raise UsageError(f"{key} = {value!r} names no step.")
    return steps


def _mode_table(value: object, key: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{key} = {value!r} must be a table, like {{every = 10}}.")
    return read_table(_SCHEDULE_KEYS, value, f"{key}:")


def _collections(value: object, key: str) -> tuple[CollectionSettings, ...]:
    if not isinstance(value, list):
        raise UsageError(f"{key} = {value!r} must be a list of tables: [[save.collection]].")
    return tuple(_from_table(one, key) for one in value)


def _key(name: str, check: Any, default: str, meaning: str) -> Key:
    return Key("save.collection", name, name, check, default, meaning)


_SCHEDULE_KEYS = (
    _key("every", whole_number(1), "1", "steps from one recording to the next"),
    _key("start", whole_number(0), "0", "the first step; `every` counts from it"),
    _key("end", whole_number(1), "", "the first step that is not recorded any more"),
    _key("steps", _steps, "", "just these steps, instead of `every`, `start` and `end`"),
)

COLLECTION_KEYS = (
    _key("name", _name, "", "a built-in collection, or a name of your own with `include`"),
    _key(
        *("include", regular_expression, ""),
        "a regular expression, searched for in tensor names; narrows a built-in collection",
    ),
    *_SCHEDULE_KEYS,
    _key(
        *("train", _mode_table, ""),
        "a schedule for training steps: `train.every` … `train.steps`. Modes without one follow "
        "the keys above; where only modes have schedules, the others record nothing",
    ),
    _key("eval", _mode_table, "", "the same for evaluation steps"),
    _key("predict", _mode_table, "", "the same for prediction steps"),
    _key(
        *("reductions", listed(_reduction), "[]"),
        "numbers you count on; the statistics, which are always recorded, give all but `prod`; "
        f"`median` and `quantiles` bring the histogram. Known: {', '.join(Reduction)}",
    ),
    _key("values", flag, "false", "the full tensors too"),
    _key("histogram", flag, "false", "a histogram too"),
)

_STATISTICS = ("weights", "biases", "gradients")

SAVE_KEYS = (
    Key(
        *("save", "statistics", "statistics", listed(one_of(AT_EVERY_STEP))),
        json.dumps(_STATISTICS),
        f"which of {', '.join(AT_EVERY_STEP)} have their statistics recorded at every training "
        "step, or as often as the overhead budget allows",
    ),
    Key(
        *("save", "histogram_every", "histogram_every", whole_number(0), "100"),
        "steps from one histogram of those to the next; 0: none",
    ),
    Key(
        *("save", "looks", "looks", flag, "true"),
        "look now and then at what rules need: how inputs, labels, predictions and activations are "
        "distributed, which gradients are kept; within the overhead budget",
    ),
    Key(
        *("save", "stop_on_non_finite", "stop_on_non_finite", flag, "false"),
        "refuse an optimizer step on non-finite gradients, and stop the job",
    ),
    Key(
        *("save", "replica_check_every", "replica_check_every", whole_number(0), "1"),
        "steps from one comparison of the workers' weights to the next, doubled until it is cheap; "
        "0: none",
    ),
    Key(
        *("save", "collection", "collections", _collections, ""),
        "more to record, exactly as asked for: one `[[save.collection]]` each, see below",
    ),
)


@dataclass(frozen=True, slots=True)
class HookSettings:
    """What the hook keeps, and what it may cost."""

    statistics: tuple[str, ...] = _STATISTICS  # collections, as often as the budget allows
    histogram_every: int = 100  # of those; 0: never
    stop_on_non_finite: bool = False
    replica_check_every: int = 1  # doubled until that is cheap; 0: never
    collections: tuple[CollectionSettings, ...] = ()  # exactly as asked for
    overhead_percent: float = 1.0
    profile: tuple[Window, ...] = DEFAULT_WINDOWS
    # What active rules need to be looked at now and then: collections such as `relu_output`, kinds
    # of observations such as `batch-hash` (patterns). None: everything that any rule may need.
    needed: tuple[str, ...] | None = None
    looks: bool = True  # False: nothing is looked at, whatever rules need

    def filled_with(self, collections: Iterable[CollectionSettings]) -> Self:
        """With those of the collections on top whose names are not taken already."""
        taken = {collection.name for collection in self.collections}
        more = (collection for collection in collections if collection.name not in taken)
        return replace(self, collections=(*self.collections, *more))

    def overridden_by(self, collections: Iterable[CollectionSettings]) -> Self:
        """With these collections, and of its own those that have other names."""
        return replace(self, collections=tuple(collections)).filled_with(self.collections)

    def to_json(self) -> str:
        """One line for a variable of the environment, in the words of the configuration file."""
        table = {
            **{key.name: getattr(self, key.field) for key in SAVE_KEYS},
            "collection": [collection.to_table() for collection in self.collections],
            "overhead_percent": self.overhead_percent,
            "profile": profile_table(self.profile),
        }
        table |= {} if self.needed is None else {"needed": list(self.needed)}
        return json.dumps(table, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> Self:
        """The settings from what `to_json` wrote."""
        try:
            table = json.loads(line)
        except ValueError as error:
            raise UsageError(f"SONDE_HOOK = {line!r} is not valid JSON: {error}") from error
        if not isinstance(table, dict):
            raise UsageError(f"SONDE_HOOK = {line!r} must be a table.")
        return cls(**read_table(_OWN_KEYS, table, "SONDE_HOOK:"))


_OWN_KEYS = (
    *SAVE_KEYS,
    Key("budget", "overhead_percent", "overhead_percent", percent, "1", ""),
    Key("profile", "profile", "profile", read_profile_table, "", ""),
    Key("rules", "needed", "needed", listed(text), "", ""),
)


def read_collections(given: object, where: str = "save") -> tuple[CollectionSettings, ...]:
    """Collections as a caller gives them: a text as for `--save`, a table, or a list of these."""
    several = given if isinstance(given, list | tuple) else [given]
    return tuple(
        parse_save(one, where) if isinstance(one, str) else _from_table(one, where)
        for one in several
    )


def parse_save(line: str, where: str = "--save") -> CollectionSettings:
    """A collection from a text like `gradients:every=10,values`."""
    where = f"{where} {line!r}:"
    name, _, rest = line.partition(":")
    table: dict[str, Any] = {"name": name}
    for part in _NEXT_KEY.split(rest) if rest else ():
        path, is_given, word = part.partition("=")
        mode, _, key = path.rpartition(".")
        inside = table.setdefault(mode, {}) if mode else table
        if not isinstance(inside, dict) or key in inside:
            raise UsageError(f"{where} {path} is given twice.")
        inside[key] = _from_word(key, word) if is_given else True
    return _read_collection(table, where)


def _from_word(key: str, word: str) -> object:
    """What a word of the command line means, where it means something."""
    if key == "steps":
        return [_from_word("step", one) for one in word.split("+")]
    if key == "reductions":
        return word.split("+")
    if key in ("every", "start", "end", "step") and _WHOLE_NUMBER.fullmatch(word):
        return int(word)
    if key in ("values", "histogram"):
        return {"true": True, "false": False}.get(word, word)
    return word


def _from_table(table: object, where: str) -> CollectionSettings:
    if not isinstance(table, Mapping):
        raise UsageError(f"{where} = {table!r} must be a table, like {{name = 'gradients'}}.")
    if "name" not in table:
        raise UsageError(f"{where} = {dict(table)!r} needs a name.")
    return _read_collection(table, f"{where} {table['name']!r}:")


def _read_collection(table: Mapping[str, object], where: str) -> CollectionSettings:
    found = read_table(COLLECTION_KEYS, table, where)
    name = found["name"]
    if name not in BUILT_IN_COLLECTIONS and "include" not in found:
        raise UsageError(
            f"{where} {name} is no built-in collection, so it needs include = a regular expression "
            f"on tensor names. Built in: {', '.join(BUILT_IN_COLLECTIONS)}"
        )
    given = {"name", "include", "reductions", "values", "histogram"} & found.keys()
    return CollectionSettings(
        schedules=_schedules(found, where), **{key: found[key] for key in given}
    )


def _schedules(found: Mapping[str, Any], where: str) -> dict[Mode, Schedule]:
    """The schedule of each mode that has one."""
    general = {key.name: found[key.name] for key in _SCHEDULE_KEYS if key.name in found}
    by_mode: dict[Mode, dict[str, Any]] = {mode: found[mode] for mode in Mode if mode in found}
    schedules = {}
    for mode in Mode:
        own = by_mode.get(mode)
        if own is None and by_mode and not general:
            continue
        inherited = general if not own or not {"steps"} & {*own, *general} else {}
        schedules[mode] = _schedule({**inherited, **(own or {})}, where)
    return schedules


def _schedule(found: Mapping[str, Any], where: str) -> Schedule:
    if "steps" in found and len(found) > 1:
        others = ", ".join(sorted(found.keys() - {"steps"}))
        raise UsageError(f"{where} steps and {others} exclude each other: keep one of them.")
    schedule = Schedule(**found)
    if schedule.end is not None and schedule.end <= schedule.start:
        raise UsageError(
            f"{where} end = {schedule.end} is not after start = {schedule.start}: no step is due."
        )
    return schedule
