"""Profiler windows: a few steps or seconds each, per kind of profile."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sonde.errors import UsageError
from sonde.records.profile import ProfileKind, Window
from sonde.settings.checks import (
    Check,
    Key,
    duration,
    flag,
    one_of,
    read_table,
    whole_number,
)

NO_PROFILES = "none"

_WHOLE_NUMBER = re.compile(r"-?[0-9]+")


def _key(name: str, check: Check, default: str, meaning: str, field: str = "") -> Key:
    return Key("profile", name, field or name, check, default, meaning)


WINDOW_KEYS = (
    _key("start_step", whole_number(0), "", "first training step"),
    _key("num_steps", whole_number(1), "1", "number of steps; default for `python`: 3"),
    _key(
        *("start_time", duration, "", "time since the start of training, instead of `start_step`"),
        "start_seconds",
    ),
    _key("duration", duration, "", "length in time, instead of `num_steps`", "duration_seconds"),
)


@dataclass(frozen=True, slots=True)
class ProfilerSettings:
    """What users see of a profiler, and what they can set."""

    title: str  # what it records
    default: Window
    runs_by_default: bool = False
    options: tuple[Key, ...] = ()


# Every kind of profile, with the implementation of the same name in `hook/profilers`. The default
# windows skip the first steps, which allocate memory and compile.
PROFILERS = {
    ProfileKind.OPERATORS: ProfilerSettings(
        "operators and kernels",
        Window(ProfileKind.OPERATORS, 5, 1),
        runs_by_default=True,
        options=(
            _key("shapes", flag, "true", "record input shapes of operators, which give the FLOP/s"),
            _key("memory", flag, "false", "record allocations of operators"),
            _key("stacks", flag, "false", "record Python call stacks"),
            _key(
                "keep_trace", flag, "false", "also store the framework's original trace, compressed"
            ),
        ),
    ),
    ProfileKind.DATALOADER: ProfilerSettings(
        "data loading", Window(ProfileKind.DATALOADER, 7, 1), runs_by_default=True
    ),
    ProfileKind.PYTHON: ProfilerSettings(
        "Python functions",
        Window(ProfileKind.PYTHON, 9, 3),
        runs_by_default=True,
        options=(
            _key(
                *("profiler", one_of(("cprofile", "stacks")), '"stacks"'),
                "`stacks` samples all threads every millisecond, `cprofile` traces every call",
            ),
            _key(
                *("timer", one_of(("total", "cpu", "off_cpu")), '"total"'),
                "time that `cprofile` counts: total, on the CPU, or waiting; implies `cprofile`",
            ),
        ),
    ),
    ProfileKind.DISTRIBUTED: ProfilerSettings(
        "collectives between workers", Window(ProfileKind.DISTRIBUTED, 13, 1)
    ),
    ProfileKind.MEMORY: ProfilerSettings(
        "tensor memory by module",
        Window(ProfileKind.MEMORY, 15, 1),
        options=(
            _key("modules", flag, "true", "by module"),
            _key("snapshot", flag, "false", "also record a snapshot of the allocator"),
        ),
    ),
}
DEFAULT_WINDOWS = tuple(
    profiler.default for profiler in PROFILERS.values() if profiler.runs_by_default
)
OPTION_KEYS: tuple[tuple[ProfileKind, Key], ...] = tuple(
    (kind, key) for kind, profiler in PROFILERS.items() for key in profiler.options
)


def _windows_of(kind: ProfileKind) -> Check:
    """Validate a table, a list of tables, or false for none."""

    def check(value: object, key: str) -> tuple[Window, ...]:
        if value is False:
            return ()
        tables = value if isinstance(value, list | tuple) else [value]
        return tuple(_from_table(kind, table, key) for table in tables)

    return check


PROFILE_KEYS = tuple(
    Key(
        *("profile", kind.value, kind.value, _windows_of(kind)),
        f"{{start_step = {profiler.default.start_step}, num_steps = {profiler.default.num_steps}}}"
        if profiler.runs_by_default
        else "false",
        f"when to profile {profiler.title}: a table with these keys, a list of tables, or false",
    )
    for kind, profiler in PROFILERS.items()
)


def parse_profile(line: str, where: str = "--profile") -> tuple[Window, ...]:
    """Parse a text such as `operators:start_step=5,num_steps=1`; `none` for no windows."""
    where = f"{where} {line!r}:"
    name, _, rest = line.partition(":")
    table: dict[str, Any] = {}
    for field in rest.split(",") if rest else ():
        key, is_given, word = field.partition("=")
        if key in table:
            raise UsageError(f"{where} duplicate key {key}.")
        table[key] = _from_word(word) if is_given else True
    if name == NO_PROFILES and not rest:
        return ()
    return (_from_table(profile_kind(name, where), table, where),)


def read_profiles(lines: Iterable[str], before: tuple[Window, ...]) -> tuple[Window, ...]:
    """The windows of several options; kinds that no option names are unchanged."""
    base = before
    requested: list[Window] = []
    for line in lines:
        windows = parse_profile(line)
        if not windows:
            base, requested = (), []
        requested += windows
    by_kind = {
        window.kind: tuple(each for each in requested if each.kind is window.kind)
        for window in requested
    }
    return replace_kinds(base, by_kind)


def replace_kinds(
    windows: Iterable[Window], by_kind: Mapping[ProfileKind, tuple[Window, ...]]
) -> tuple[Window, ...]:
    """Replace the windows of some kinds."""
    unchanged = (window for window in windows if window.kind not in by_kind)
    merged = (*unchanged, *(window for group in by_kind.values() for window in group))
    order = list(ProfileKind)
    return tuple(sorted(merged, key=lambda window: order.index(window.kind)))


def read_profile_table(table: Mapping[str, object], where: str) -> tuple[Window, ...]:
    """Parse a table of windows by kind."""
    if not isinstance(table, Mapping):
        raise UsageError(f"{where} = {table!r} must be a table.")
    by_kind = read_table(PROFILE_KEYS, table, where)
    return tuple(window for windows in by_kind.values() for window in windows)


def profile_table(windows: Iterable[Window]) -> dict[str, list[dict[str, object]]]:
    """The windows as a table of a configuration file."""
    table: dict[str, list[dict[str, object]]] = {}
    for window in windows:
        table.setdefault(window.kind.value, []).append(_to_table(window))
    return table


def profile_kind(name: str, where: str) -> ProfileKind:
    """A kind of profile by its name."""
    return ProfileKind(one_of(ProfileKind)(name, f"{where} kind"))


def requested_windows(arguments: Mapping[str, str], where: str = "") -> tuple[Window, ...]:
    """The windows of a profile request.

    Args:
        arguments: `kinds`, comma-separated; `steps` or `seconds`; `by`; and profiler options, each
            for the kinds that have it.
        where: A prefix for error messages.
    """
    kinds = [profile_kind(name, where) for name in arguments.get("kinds", "").split(",")]
    options = {name: word for name, word in arguments.items() if name not in _REQUEST_ARGUMENTS}
    for name, word in options.items():
        if not any(name == key.name for kind in kinds for key in PROFILERS[kind].options):
            names = sorted({key.name for kind in kinds for key in PROFILERS[kind].options})
            raise UsageError(f"{where} unknown option {name}={word}. Available: {', '.join(names)}")
    return tuple(_requested(kind, arguments, options, where) for kind in dict.fromkeys(kinds))


_REQUEST_ARGUMENTS = ("kinds", "steps", "seconds", "by", "workers", "nodes")


def _requested(
    kind: ProfileKind, arguments: Mapping[str, str], options: Mapping[str, str], where: str
) -> Window:
    names = {key.name for key in PROFILERS[kind].options}
    table = {name: _from_word(word) for name, word in options.items() if name in names}
    if "steps" in arguments:
        table["num_steps"] = _from_word(arguments["steps"])
    if "seconds" in arguments:
        table["duration"] = f"{arguments['seconds']}s"
    window = _from_table(kind, table, where)
    return replace(window, start_step=None, by=arguments.get("by", "request"))


def _from_table(kind: ProfileKind, table: object, where: str) -> Window:
    if not isinstance(table, Mapping):
        raise UsageError(f"{where} = {table!r} must be a table, like {{start_step = 5}}, or false.")
    values = read_table((*WINDOW_KEYS, *PROFILERS[kind].options), table, where)
    if {"start_step", "start_seconds"} <= values.keys():
        raise UsageError(f"{where} start_step and start_time are mutually exclusive: remove one.")
    if {"num_steps", "duration_seconds"} <= values.keys():
        raise UsageError(f"{where} num_steps and duration are mutually exclusive: remove one.")
    default = PROFILERS[kind].default
    start_step = None if "start_seconds" in values else values.get("start_step", default.start_step)
    options = {
        key.name: _word(values[key.name]) for key in PROFILERS[kind].options if key.name in values
    }
    if "timer" in options:
        options = {"profiler": "cprofile", **options}
    return Window(
        kind=kind,
        start_step=start_step,
        num_steps=values.get("num_steps", default.num_steps),
        start_seconds=values.get("start_seconds"),
        duration_seconds=values.get("duration_seconds"),
        options=options,
    )


def _to_table(window: Window) -> dict[str, object]:
    table: dict[str, object] = {}
    if window.start_seconds is not None:
        table["start_time"] = f"{window.start_seconds:.6f}s"
    else:
        table["start_step"] = window.start_step
    if window.duration_seconds is not None:
        table["duration"] = f"{window.duration_seconds:.6f}s"
    else:
        table["num_steps"] = window.num_steps
    return {**table, **{name: _from_word(word) for name, word in window.options.items()}}


def _from_word(word: str) -> object:
    """Convert a word of the command line to a number or boolean, if it is one."""
    if _WHOLE_NUMBER.fullmatch(word):
        return int(word)
    return {"true": True, "false": False}.get(word, word)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
