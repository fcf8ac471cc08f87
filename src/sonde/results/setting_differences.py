"""What differs in how runs were started: command, commit, packages, environment, machine."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sonde.results.run_record import RunRecord

# variables that differ between any two shells
_OF_THE_SHELL = {"_", "OLDPWD", "SHLVL", "COLUMNS", "LINES", "WINDOWID", "SSH_CLIENT", "SSH_TTY"}
_OF_THE_SHELL |= {"SSH_CONNECTION", "TERM", "PWD"}
_SECTIONS = ("git", "versions", "packages", "environment", "machine")
_TITLES = {"git": "commit"}
_PROGRAM = "program"


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """One setting that is not the same in all runs."""

    section: str  # `command`, `commit`, `training`, `versions`, `packages`, `environment`, …
    name: str
    values: tuple[str | None, ...]  # by run; None if the run does not have it


def setting_differences(runs: Sequence[RunRecord]) -> tuple[SettingDifference, ...]:
    """The settings that differ between runs, the most important section first."""
    sections: dict[str, list[Mapping[str, str]]] = {
        "command": [_options(run.attempt.get("command", ())) for run in runs],
        "training": [_training(run) for run in runs],
    }
    for section in _SECTIONS:
        columns: list[Mapping[str, str]] = [run.attempt.get(section, {}) for run in runs]
        if all(columns):  # a run that has ended early did not record its environment
            sections[_TITLES.get(section, section)] = columns
    return tuple(
        difference
        for section, columns in sections.items()
        for difference in _differences(section, columns)
    )


def _differences(section: str, columns: Sequence[Mapping[str, str]]) -> Iterator[SettingDifference]:
    names = dict.fromkeys(name for column in columns for name in column)
    for name in names:
        values = tuple(column.get(name) for column in columns)
        if len(set(values)) > 1 and not (section == "environment" and name in _OF_THE_SHELL):
            yield SettingDifference(section, name, values)


def _options(command: Sequence[str]) -> dict[str, str]:
    """The options of a command by name, and its other words as its program."""
    options: dict[str, str] = {}
    words = []
    is_value = False
    for word, following in pairwise((*command, "-")):
        if is_value:
            is_value = False
        elif word.startswith("--") and "=" in word:
            name, _, value = word.partition("=")
            options[name] = value
        elif word.startswith("--"):
            is_value = not following.startswith("-")
            options[word] = following if is_value else "yes"
        else:
            words.append(word)
    return {_PROGRAM: " ".join(words), **options} if words else options


def _training(run: RunRecord) -> dict[str, str]:
    """What can be seen of the configuration: workers, devices, first learning rates."""
    lives: Sequence[Mapping[str, Any]] = run.status["lives"]
    devices = dict.fromkeys(life["device"] for life in lives if life["device"])
    settings = {"workers": str(run.status["workers"]), "devices": ", ".join(devices)}
    for name, series in run.scalars.items():
        if name.startswith("learning_rate") and len(series.values):
            settings[f"{name} (first step)"] = f"{series.values[0]:.6g}"
    return settings
