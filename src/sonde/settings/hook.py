"""Settings of the hook: statistics, collections and schedules."""

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
    """A requested collection: which tensors, at which steps, and what to record."""

    name: str
    include: str | None = None  # a regular expression to search for in tensor names
    schedules: Mapping[Mode, Schedule] = field(
        default_factory=lambda: dict.fromkeys(Mode, Schedule())
    )
    reductions: tuple[Reduction, ...] = ()
    values: bool = False
    histogram: bool = False

    def to_table(self) -> dict[str, object]:
        """The collection as a table of a configuration file."""
        schedules = {
            mode.value: _schedule_table(schedule) for mode, schedule in self.schedules.items()
        }
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
            f"{key} = {name!r} is not a valid collection name. "
            "Use letters, digits, '.', '_' and '-', starting with a letter."
        )
    return name


def _reduction(value: object, key: str) -> Reduction:
    return Reduction(one_of(Reduction)(value, key))


def _steps(value: object, key: str) -> frozenset[int]:
    steps = frozenset(listed(whole_number(0))(value, key))
    if not steps:
        raise UsageError(f"{key} = {value!r} is empty. Specify at least one step.")
    return steps


def _mode_table(value: object, key: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{key} = {value!r} must be a table, like {{every = 10}}.")
    return read_table(_SCHEDULE_KEYS, value, f"{key}:")


def _collections(value: object, key: str) -> tuple[CollectionSettings, ...]:
    if not isinstance(value, list):
        raise UsageError(f"{key} = {value!r} must be a list of tables: [[save.collection]].")
    return tuple(_from_table(table, key) for table in value)


def _key(name: str, check: Any, default: str, meaning: str) -> Key:
    return Key("save.collection", name, name, check, default, meaning)


_SCHEDULE_KEYS = (
    _key("every", whole_number(1), "1", "number of steps between recordings"),
    _key("start", whole_number(0), "0", "first step; `every` counts from it"),
    _key("end", whole_number(1), "", "step at which recording ends (exclusive)"),
    _key("steps", _steps, "", "exactly these steps, instead of `every`, `start` and `end`"),
)

COLLECTION_KEYS = (
    _key("name", _name, "", "a built-in collection, or a custom name with `include`"),
    _key(
        *("include", regular_expression, ""),
        "a regular expression to search for in tensor names; narrows a built-in collection",
    ),
    *_SCHEDULE_KEYS,
    _key(
        *("train", _mode_table, ""),
        "a schedule for training steps: `train.every` … `train.steps`. Modes without a schedule "
        "use the keys above; if only modes have schedules, the other modes are not recorded",
    ),
    _key("eval", _mode_table, "", "the same for evaluation steps"),
    _key("predict", _mode_table, "", "the same for prediction steps"),
    _key(
        *("reductions", listed(_reduction), "[]"),
        "reductions to guarantee; all but `prod` are derived from the statistics, which are always "
        f"recorded; `median` and `quantiles` add the histogram. One of: {', '.join(Reduction)}",
    ),
    _key("values", flag, "false", "also record the full tensors"),
    _key("histogram", flag, "false", "also record a histogram"),
)

_STATISTICS = ("weights", "biases", "gradients")

SAVE_KEYS = (
    Key(
        *("save", "statistics", "statistics", listed(one_of(AT_EVERY_STEP))),
        json.dumps(_STATISTICS),
        f"record statistics of these at every training step, or as often as the overhead budget "
        f"allows: {', '.join(AT_EVERY_STEP)}",
    ),
    Key(
        *("save", "histogram_every", "histogram_every", whole_number(0), "100"),
        "number of steps between histograms of these; 0 for none",
    ),
    Key(
        *("save", "looks", "inspections", flag, "true"),
        "inspect periodically what rules need, within the overhead budget: distributions of "
        "inputs, labels, predictions and activations, stale gradients",
    ),
    Key(
        *("save", "stop_on_non_finite", "stop_on_non_finite", flag, "false"),
        "block optimizer steps with non-finite gradients, and stop the job",
    ),
    Key(
        *("save", "replica_check_every", "replica_check_every", whole_number(0), "1"),
        "number of steps between comparisons of the workers' weights, doubled until the cost is "
        "low; 0 for none",
    ),
    Key(
        *("save", "collection", "collections", _collections, ""),
        "additional collections, one `[[save.collection]]` each; see below",
    ),
)


@dataclass(frozen=True, slots=True)
class HookSettings:
    """What the hook records, and its overhead budget."""

    statistics: tuple[str, ...] = _STATISTICS  # as often as the budget allows
    histogram_every: int = 100  # 0: never
    stop_on_non_finite: bool = False
    stop_rule: str = ""  # whose stop action requires it; empty: set by the user
    replica_check_every: int = 1  # doubled until the cost is low; 0: never
    collections: tuple[CollectionSettings, ...] = ()  # exactly as requested
    overhead_percent: float = 1.0
    profile: tuple[Window, ...] = DEFAULT_WINDOWS
    # What active rules need inspected: collections such as `relu_output`, kinds of observations
    # such as `batch-hash` (patterns). None: everything that any rule may need.
    needed: tuple[str, ...] | None = None
    inspections: bool = True  # False: no inspections, regardless of what rules need

    def filled_with(self, collections: Iterable[CollectionSettings]) -> Self:
        """Add the collections whose names are not in use."""
        names = {collection.name for collection in self.collections}
        more = (collection for collection in collections if collection.name not in names)
        return replace(self, collections=(*self.collections, *more))

    def overridden_by(self, collections: Iterable[CollectionSettings]) -> Self:
        """Replace collections of the same names, and add the others."""
        return replace(self, collections=tuple(collections)).filled_with(self.collections)

    def to_json(self) -> str:
        """One line of JSON for an environment variable, with the keys of the configuration file."""
        table = {
            **{key.name: getattr(self, key.field) for key in SAVE_KEYS},
            "collection": [collection.to_table() for collection in self.collections],
            "overhead_percent": self.overhead_percent,
            "profile": profile_table(self.profile),
        }
        table |= {} if self.needed is None else {"needed": list(self.needed)}
        table |= {"stop_rule": self.stop_rule} if self.stop_rule else {}
        return json.dumps(table, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> Self:
        """Parse the output of `to_json`."""
        try:
            table = json.loads(line)
        except ValueError as error:
            raise UsageError(f"SONDE_HOOK = {line!r} is not valid JSON: {error}") from error
        if not isinstance(table, dict):
            raise UsageError(f"SONDE_HOOK = {line!r} must be a table.")
        return cls(**read_table(_JSON_KEYS, table, "SONDE_HOOK:"))


_JSON_KEYS = (
    *SAVE_KEYS,
    Key("budget", "overhead_percent", "overhead_percent", percent, "1", ""),
    Key("profile", "profile", "profile", read_profile_table, "", ""),
    Key("rules", "needed", "needed", listed(text), "", ""),
    Key("rules", "stop_rule", "stop_rule", text, "", ""),
)


def read_collections(collections: object, where: str = "save") -> tuple[CollectionSettings, ...]:
    """Parse collections: a text as for `--save`, a table, or a list of these."""
    items = collections if isinstance(collections, list | tuple) else [collections]
    return tuple(
        parse_save(item, where) if isinstance(item, str) else _from_table(item, where)
        for item in items
    )


def parse_save(line: str, where: str = "--save") -> CollectionSettings:
    """Parse a text such as `gradients:every=10,values`."""
    where = f"{where} {line!r}:"
    name, _, rest = line.partition(":")
    table: dict[str, Any] = {"name": name}
    for assignment in _NEXT_KEY.split(rest) if rest else ():
        path, is_given, word = assignment.partition("=")
        mode, _, key = path.rpartition(".")
        inside = table.setdefault(mode, {}) if mode else table
        if not isinstance(inside, dict) or key in inside:
            raise UsageError(f"{where} duplicate key {path}.")
        inside[key] = _from_word(key, word) if is_given else True
    return _read_collection(table, where)


def _from_word(key: str, word: str) -> object:
    """Convert a word of the command line to the type of its key."""
    if key == "steps":
        return [_from_word("step", step) for step in word.split("+")]
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
        raise UsageError(f"{where} = {dict(table)!r} requires a name.")
    return _read_collection(table, f"{where} {table['name']!r}:")


def _read_collection(table: Mapping[str, object], where: str) -> CollectionSettings:
    values = read_table(COLLECTION_KEYS, table, where)
    name = values["name"]
    if name not in BUILT_IN_COLLECTIONS and "include" not in values:
        raise UsageError(
            f"{where} {name} is not a built-in collection. Set include to a regular expression on "
            f"tensor names. Built-in collections: {', '.join(BUILT_IN_COLLECTIONS)}"
        )
    present = {"name", "include", "reductions", "values", "histogram"} & values.keys()
    return CollectionSettings(
        schedules=_schedules(values, where), **{key: values[key] for key in present}
    )


def _schedules(values: Mapping[str, Any], where: str) -> dict[Mode, Schedule]:
    """The schedule of each recorded mode."""
    general = {key.name: values[key.name] for key in _SCHEDULE_KEYS if key.name in values}
    by_mode: dict[Mode, dict[str, Any]] = {mode: values[mode] for mode in Mode if mode in values}
    schedules = {}
    for mode in Mode:
        mode_schedule = by_mode.get(mode)
        if mode_schedule is None and by_mode and not general:
            continue
        inherited = (
            general if not mode_schedule or not {"steps"} & {*mode_schedule, *general} else {}
        )
        schedules[mode] = _schedule({**inherited, **(mode_schedule or {})}, where)
    return schedules


def _schedule(values: Mapping[str, Any], where: str) -> Schedule:
    if "steps" in values and len(values) > 1:
        keys = ", ".join(sorted(values.keys() - {"steps"}))
        raise UsageError(f"{where} steps and {keys} are mutually exclusive: remove one.")
    schedule = Schedule(**values)
    if schedule.end is not None and schedule.end <= schedule.start:
        raise UsageError(
            f"{where} end = {schedule.end} must be greater than start = {schedule.start}."
        )
    return schedule
