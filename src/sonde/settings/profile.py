"""When profilers look deeper: windows of a few steps or seconds, each of one kind."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
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

# Where nothing else is said: late enough for the first steps, which find memory and compile.
_USUAL = {
    ProfileKind.OPERATORS: Window(ProfileKind.OPERATORS, 5, 1),
    ProfileKind.DATALOADER: Window(ProfileKind.DATALOADER, 7, 1),
    ProfileKind.PYTHON: Window(ProfileKind.PYTHON, 9, 3),
    ProfileKind.DISTRIBUTED: Window(ProfileKind.DISTRIBUTED, 13, 1),
    ProfileKind.MEMORY: Window(ProfileKind.MEMORY, 15, 1),
}
DEFAULT_WINDOWS = tuple(
    _USUAL[kind] for kind in (ProfileKind.OPERATORS, ProfileKind.DATALOADER, ProfileKind.PYTHON)
)
_MEANINGS = {
    ProfileKind.OPERATORS: "operators of the framework and kernels of the device",
    ProfileKind.DATALOADER: "what the data loader and each of its workers do",
    ProfileKind.PYTHON: "functions of Python",
    ProfileKind.DISTRIBUTED: "what workers exchange, call by call",
    ProfileKind.MEMORY: "memory of tensors, by module",
}
_WHOLE_NUMBER = re.compile(r"-?[0-9]+")


def _key(name: str, check: Check, default: str, meaning: str, field: str = "") -> Key:
    return Key("profile", name, field or name, check, default, meaning)


WINDOW_KEYS = (
    _key("start_step", whole_number(0), "", "the first training step"),
    _key("num_steps", whole_number(1), "1", "how many steps; those of `python`: 3"),
    _key(
        *("start_time", duration, "", "time since training began, instead of `start_step`"),
        "start_seconds",
    ),
    _key("duration", duration, "", "time, instead of `num_steps`", "duration_seconds"),
)
_OPTIONS = {
    ProfileKind.OPERATORS: (
        _key("shapes", flag, "false", "the shapes of what operators are given"),
        _key("memory", flag, "false", "what operators allocate"),
        _key("stacks", flag, "false", "the lines of Python that call them"),
        _key("keep_trace", flag, "false", "the trace as the framework wrote it stays, compressed"),
    ),
    ProfileKind.DATALOADER: (),
    ProfileKind.PYTHON: (
        _key(
            *("profiler", one_of(("cprofile", "stacks")), '"stacks"'),
            "`stacks` looks at all threads once in a millisecond, `cprofile` sees every call",
        ),
        _key(
            *("timer", one_of(("total", "cpu", "off_cpu")), '"total"'),
            "which time `cprofile` counts, which is meant then: all, that of the processor, that "
            "of waiting",
        ),
    ),
    ProfileKind.DISTRIBUTED: (),
    ProfileKind.MEMORY: (
        _key("modules", flag, "true", "by module"),
        _key("snapshot", flag, "false", "a snapshot of the allocator, too"),
    ),
}
OPTION_KEYS: tuple[tuple[ProfileKind, Key], ...] = tuple(
    (kind, key) for kind, keys in _OPTIONS.items() for key in keys
)


def _windows_of(kind: ProfileKind) -> Check:
    """A table, several in a list, or false for none."""

    def check(value: object, key: str) -> tuple[Window, ...]:
        if value is False:
            return ()
        tables = value if isinstance(value, list | tuple) else [value]
        return tuple(_from_table(kind, table, key) for table in tables)

    return check


PROFILE_KEYS = tuple(
    Key(
        *("profile", kind.value, kind.value, _windows_of(kind)),
        f"{{start_step = {usual.start_step}, num_steps = {usual.num_steps}}}"
        if usual in DEFAULT_WINDOWS
        else "false",
        f"when to look at {_MEANINGS[kind]}: a table of the keys below, a list of them, or false",
    )
    for kind, usual in _USUAL.items()
)


def parse_profile(line: str, where: str = "--profile") -> tuple[Window, ...]:
    """Windows from a text like `operators:start_step=5,num_steps=1`; `none` names none."""
    where = f"{where} {line!r}:"
    name, _, rest = line.partition(":")
    table: dict[str, Any] = {}
    for part in rest.split(",") if rest else ():
        key, is_given, word = part.partition("=")
        if key in table:
            raise UsageError(f"{where} {key} is given twice.")
        table[key] = _from_word(word) if is_given else True
    if name == NO_PROFILES and not rest:
        return ()
    return (_from_table(known_kind(name, where), table, where),)


def read_profiles(lines: Iterable[str], before: tuple[Window, ...]) -> tuple[Window, ...]:
    """The windows that several options ask for; kinds that none of them names stay as before."""
    found = before
    asked: list[Window] = []
    for line in lines:
        windows = parse_profile(line)
        if not windows:
            found, asked = (), []
        asked += windows
    by_kind = {one.kind: tuple(two for two in asked if two.kind is one.kind) for one in asked}
    return replaced(found, by_kind)


def replaced(
    windows: Iterable[Window], by_kind: Mapping[ProfileKind, tuple[Window, ...]]
) -> tuple[Window, ...]:
    """The windows, where some kinds have others now."""
    kept = (one for one in windows if one.kind not in by_kind)
    found = (*kept, *(one for several in by_kind.values() for one in several))
    order = list(ProfileKind)
    return tuple(sorted(found, key=lambda one: order.index(one.kind)))


def read_profile_table(table: Mapping[str, object], where: str) -> tuple[Window, ...]:
    """Just the windows that a table names, by kind."""
    if not isinstance(table, Mapping):
        raise UsageError(f"{where} = {table!r} must be a table.")
    found = read_table(PROFILE_KEYS, table, where)
    return tuple(one for windows in found.values() for one in windows)


def profile_table(windows: Iterable[Window]) -> dict[str, list[dict[str, object]]]:
    """Windows as one would write them in a configuration file."""
    table: dict[str, list[dict[str, object]]] = {}
    for one in windows:
        table.setdefault(one.kind.value, []).append(_to_table(one))
    return table


def known_kind(name: str, where: str) -> ProfileKind:
    """A kind of profile by its name."""
    return ProfileKind(one_of(ProfileKind)(name, f"{where} kind"))


def requested_windows(arguments: Mapping[str, str], where: str = "") -> tuple[Window, ...]:
    """The windows that a request asks for, one after the other.

    Args:
        arguments: `kinds`, joined by commas; `steps` or `seconds`; `by`; and options of profilers,
            each for the kinds that have it.
        where: Who asks, for the words about what is wrong.
    """
    kinds = [known_kind(name, where) for name in arguments.get("kinds", "").split(",")]
    given = {name: word for name, word in arguments.items() if name not in _OF_REQUESTS}
    for name, word in given.items():
        if not any(name == key.name for kind in kinds for key in _OPTIONS[kind]):
            known = sorted({key.name for kind in kinds for key in _OPTIONS[kind]})
            raise UsageError(f"{where} unknown option {name}={word}. Known: {', '.join(known)}")
    return tuple(_requested(kind, arguments, given, where) for kind in dict.fromkeys(kinds))


_OF_REQUESTS = ("kinds", "steps", "seconds", "by", "workers", "nodes")


def _requested(
    kind: ProfileKind, arguments: Mapping[str, str], given: Mapping[str, str], where: str
) -> Window:
    own = {key.name for key in _OPTIONS[kind]}
    table = {name: _from_word(word) for name, word in given.items() if name in own}
    if "steps" in arguments:
        table["num_steps"] = _from_word(arguments["steps"])
    if "seconds" in arguments:
        table["duration"] = f"{arguments['seconds']}s"
    window = _from_table(kind, table, where)
    return replace(window, start_step=None, by=arguments.get("by", "request"))


def _from_table(kind: ProfileKind, table: object, where: str) -> Window:
    if not isinstance(table, Mapping):
        raise UsageError(f"{where} = {table!r} must be a table, like {{start_step = 5}}, or false.")
    found = read_table((*WINDOW_KEYS, *_OPTIONS[kind]), table, where)
    if {"start_step", "start_seconds"} <= found.keys():
        raise UsageError(f"{where} start_step and start_time exclude each other: keep one of them.")
    if {"num_steps", "duration_seconds"} <= found.keys():
        raise UsageError(f"{where} num_steps and duration exclude each other: keep one of them.")
    usual = _USUAL[kind]
    start_step = None if "start_seconds" in found else found.get("start_step", usual.start_step)
    options = {one.name: _word(found[one.name]) for one in _OPTIONS[kind] if one.name in found}
    if "timer" in options:
        options = {"profiler": "cprofile", **options}
    return Window(
        kind=kind,
        start_step=start_step,
        num_steps=found.get("num_steps", usual.num_steps),
        start_seconds=found.get("start_seconds"),
        duration_seconds=found.get("duration_seconds"),
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
    """What a word of the command line means, where it means something."""
    if _WHOLE_NUMBER.fullmatch(word):
        return int(word)
    return {"true": True, "false": False}.get(word, word)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
