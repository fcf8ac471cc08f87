"""How a job is watched, from a configuration file."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sonde.errors import UsageError
from sonde.records.profile import ProfileKind
from sonde.settings.actions import ACTIONS_SECTION, ActionsSettings, read_actions
from sonde.settings.checks import Key, flag, interval, percent, read_table, size, text
from sonde.settings.hook import SAVE_KEYS, HookSettings
from sonde.settings.profile import PROFILE_KEYS, replaced
from sonde.settings.rules import RULES_SECTION, AskedRules, RulesSettings, read_rules
from sonde.settings.surroundings import DEFAULT_STORE, default_store

CONFIG_NAME = "sonde.toml"


DEFAULT_INTERVAL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How a job is watched."""

    name: str | None = None
    store: str = DEFAULT_STORE
    interval_seconds: float = DEFAULT_INTERVAL_SECONDS
    overhead_percent: float = 1.0
    disk_bytes: int = 20_000_000_000
    report_at_end: bool = True
    hook: HookSettings = field(default_factory=HookSettings)
    rules: RulesSettings = field(default_factory=RulesSettings)
    actions: ActionsSettings = field(default_factory=ActionsSettings)
    asked: AskedRules = field(default_factory=AskedRules)
    file: str | None = None  # where what is not a default was found
    name_in_file: tuple[str, str] | None = None  # a name and the file it is from; --name wins

    @property
    def has_actions(self) -> bool:
        """Whether anything may follow a finding."""
        rules = self.rules
        return bool(rules.actions or self.actions.asked or any(one.actions for one in rules.rules))

    def for_workers(self) -> HookSettings:
        """What the hook inside each training process is told."""
        return replace(self.hook, overhead_percent=self.overhead_percent)


RUN_KEYS = (
    Key(
        *("job", "name", "name", text, ""),  # checked with every other name, when it is registered
        "the job's name; without it: script name and time",
    ),
    Key(
        *("system", "interval", "interval_seconds", interval, '"500ms"'),
        "time between two samples of the machine, 100ms to 60s",
    ),
    Key(
        *("budget", "overhead_percent", "overhead_percent", percent, "1"),
        "what watching may cost: of one core beside training, of the steps inside it; "
        "above it the intervals grow",
    ),
    Key(
        *("budget", "disk", "disk_bytes", size, '"20GB"'),
        "the most a job may take; the oldest raw data goes first, roll-ups stay",
    ),
    Key(
        *("report", "at_end", "report_at_end", flag, "true"),
        "write the report when the job ends, and while it runs when findings change",
    ),
)

KEYS = (*RUN_KEYS, *SAVE_KEYS, *PROFILE_KEYS)

# Sections that hold tables, one for each rule or action that is spoken to.
_WITH_TABLES: dict[str, Callable[[Mapping[str, object], Path], object]] = {
    RULES_SECTION: read_rules,
    ACTIONS_SECTION: read_actions,
}


def load_settings(config: Path | None, command: tuple[str, ...] = ()) -> RunSettings:
    """The settings from a file, or from `sonde.toml` beside the script or in the folder.

    The default store comes from SONDE_STORE; options of the command line go on top, by the caller.
    """
    found = config or _find_config(command)
    settings = RunSettings(store=default_store())
    return settings if found is None else _apply_file(settings, found)


def _find_config(command: tuple[str, ...]) -> Path | None:
    words = (word for word in command if not re.search(r"\s", word))
    scripts = [Path(word) for word in words if word.endswith((".py", ".sh"))]
    folders = [script.parent for script in scripts[:1]] + [Path()]
    candidates = (folder / CONFIG_NAME for folder in folders)
    return next((candidate for candidate in candidates if _is_there(candidate)), None)


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder we may not look into, a word that is no path at all
        return False


def _apply_file(settings: RunSettings, path: Path) -> RunSettings:
    document = _load(path)
    sections = sorted({key.section for key in KEYS} | _WITH_TABLES.keys())
    changes: dict[str, Any] = {}
    hook = settings.hook
    for section, table in document.items():
        if not isinstance(table, dict):
            raise _outside(path, section, sections)
        if section not in sections:
            raise UsageError(f"{path}: unknown section [{section}]. Known: {', '.join(sections)}")
        if section in _WITH_TABLES:
            changes[section] = _WITH_TABLES[section](table, path)
            continue
        keys = [key for key in KEYS if key.section == section]
        found = read_table(keys, table, f"{path}: [{section}]")
        if section == "save":
            hook = replace(hook, **found)
        elif section == "profile":
            by_kind = {ProfileKind(kind): windows for kind, windows in found.items()}
            hook = replace(hook, profile=replaced(hook.profile, by_kind))
        else:
            changes |= found
    if "name" in changes:
        changes["name_in_file"] = (changes["name"], str(path))
    return replace(settings, hook=hook, file=str(path.absolute()), **changes)


def _load(path: Path) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 — 5 ms of a start that most often finds no file

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"Cannot read the configuration {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error


def _outside(path: Path, name: str, sections: list[str]) -> UsageError:
    owner = next((key.section for key in KEYS if key.name == name), None)
    all_of_them = ", ".join(f"[{section}]" for section in sections)
    way_out = f"Put it under [{owner}]." if owner else f"Keys belong into one of {all_of_them}."
    return UsageError(f"{path}: {name!r} is not in a section. {way_out}")
