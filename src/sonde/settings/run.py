"""Settings of a job from a configuration file."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sonde.errors import UsageError
from sonde.records.profile import ProfileKind
from sonde.settings.actions import ACTIONS_SECTION, ActionsSettings, read_actions
from sonde.settings.checks import Key, flag, interval, percent, price, read_table, size, text
from sonde.settings.hook import SAVE_KEYS, HookSettings
from sonde.settings.process_environment import DEFAULT_STORE, default_store
from sonde.settings.profile import PROFILE_KEYS, replace_kinds
from sonde.settings.rules import RULES_SECTION, RuleOptions, RulesSettings, read_rules

CONFIG_NAME = "sonde.toml"


DEFAULT_INTERVAL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How a job is monitored."""

    name: str | None = None
    store: str = DEFAULT_STORE
    interval_seconds: float = DEFAULT_INTERVAL_SECONDS
    overhead_percent: float = 1.0
    disk_bytes: int = 20_000_000_000
    price_per_gpu_hour: float | None = None
    report_at_end: bool = True
    hook: HookSettings = field(default_factory=HookSettings)
    rules: RulesSettings = field(default_factory=RulesSettings)
    actions: ActionsSettings = field(default_factory=ActionsSettings)
    rule_options: RuleOptions = field(default_factory=RuleOptions)
    file: str | None = None  # the configuration file
    name_in_file: tuple[str, str] | None = None  # a name and its file; --name takes precedence

    @property
    def has_actions(self) -> bool:
        """Whether any finding may trigger an action."""
        rules = self.rules
        return bool(
            rules.actions or self.actions.requested or any(rule.actions for rule in rules.rules)
        )

    def for_workers(self) -> HookSettings:
        """The hook settings for each training process."""
        return replace(self.hook, overhead_percent=self.overhead_percent)


RUN_KEYS = (
    Key(
        *("job", "name", "name", text, ""),  # validated when the job is registered
        "job name; by default, script name and time",
    ),
    Key(
        *("job", "price_per_gpu_hour", "price_per_gpu_hour", price, ""),
        "price of a GPU-hour, in any currency; shows the price of the job and of each finding",
    ),
    Key(
        *("system", "interval", "interval_seconds", interval, '"500ms"'),
        "system sampling interval, 100ms to 60s",
    ),
    Key(
        *("budget", "overhead_percent", "overhead_percent", percent, "1"),
        "overhead limit: share of one core outside training, share of step time inside it; "
        "sampling slows down to stay below it",
    ),
    Key(
        *("budget", "disk", "disk_bytes", size, '"20GB"'),
        "disk space limit of a job; the oldest raw data is deleted first, roll-ups are retained",
    ),
    Key(
        *("report", "at_end", "report_at_end", flag, "true"),
        "write the report when the job ends, and during the job when findings change",
    ),
)

KEYS = (*RUN_KEYS, *SAVE_KEYS, *PROFILE_KEYS)

# sections that contain one table per rule or action
_WITH_TABLES: dict[str, Callable[[Mapping[str, object], Path], object]] = {
    RULES_SECTION: read_rules,
    ACTIONS_SECTION: read_actions,
}


def load_settings(config: Path | None, command: tuple[str, ...] = ()) -> RunSettings:
    """Load the settings from a file, or from `sonde.toml` next to the script or in this folder.

    SONDE_STORE sets the default store. The caller applies command-line options on top.
    """
    path = config or _find_config(command)
    settings = RunSettings(store=default_store())
    return settings if path is None else _apply_file(settings, path)


def _find_config(command: tuple[str, ...]) -> Path | None:
    words = (word for word in command if not re.search(r"\s", word))
    scripts = [Path(word) for word in words if word.endswith((".py", ".sh"))]
    folders = [script.parent for script in scripts[:1]] + [Path()]
    candidates = (folder / CONFIG_NAME for folder in folders)
    return next((candidate for candidate in candidates if _is_file(candidate)), None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # no permission, or not a valid path
        return False


def _apply_file(settings: RunSettings, path: Path) -> RunSettings:
    document = _load(path)
    sections = sorted({key.section for key in KEYS} | _WITH_TABLES.keys())
    changes: dict[str, Any] = {}
    hook = settings.hook
    for section, table in document.items():
        if not isinstance(table, dict):
            raise _section_error(path, section, sections)
        if section not in sections:
            raise UsageError(
                f"{path}: unknown section [{section}]. Valid sections: {', '.join(sections)}"
            )
        if section in _WITH_TABLES:
            changes[section] = _WITH_TABLES[section](table, path)
            continue
        keys = [key for key in KEYS if key.section == section]
        values = read_table(keys, table, f"{path}: [{section}]")
        if section == "save":
            hook = replace(hook, **values)
        elif section == "profile":
            by_kind = {ProfileKind(kind): windows for kind, windows in values.items()}
            hook = replace(hook, profile=replace_kinds(hook.profile, by_kind))
        else:
            changes |= values
    if "name" in changes:
        changes["name_in_file"] = (changes["name"], str(path))
    return replace(settings, hook=hook, file=str(path.absolute()), **changes)


def _load(path: Path) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 — takes 5 ms, and most jobs have no file

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"Cannot read configuration file {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error


def _section_error(path: Path, name: str, sections: list[str]) -> UsageError:
    owner = next((key.section for key in KEYS if key.name == name), None)
    section_names = ", ".join(f"[{section}]" for section in sections)
    advice = f"Put it under [{owner}]." if owner else f"Put keys under one of {section_names}."
    return UsageError(f"{path}: {name!r} is not in a section. {advice}")
