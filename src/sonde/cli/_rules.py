"""What commands that ask rules share: the options that choose them, and whether they can be."""

import argparse
import json
import subprocess
from dataclasses import replace

from sonde.cli._command import Options
from sonde.collect.side_process import sonde_command
from sonde.errors import UsageError
from sonde.records.finding import Severity
from sonde.settings import AskedRules, RunSettings

FOUND = 3  # the exit code of findings at or above `--fail-on`

_CHECK_SECONDS = 60.0


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Which rules, and with what parameters."""
    parser.add_argument(
        "--rules", metavar="A,B", default="", help="only these (default: all of `sonde rules`)"
    )
    parser.add_argument(
        "--set",
        metavar="RULE.PARAMETER=VALUE",
        action="append",
        default=[],
        help="a parameter of a rule, or its setting=classic; may be repeated",
    )


def add_no_rules(parser: argparse.ArgumentParser) -> None:
    """Not to ask any."""
    parser.add_argument(
        "--no-rules", action="store_true", help="judge nothing; `sonde check` can do so later"
    )


def add_fail_on(parser: argparse.ArgumentParser) -> None:
    """The option for continuous integration."""
    parser.add_argument(
        "--fail-on",
        choices=[one.value for one in Severity],
        help="exit with 3 where something at least so bad is found",
    )


def exit_code(options: Options, worst: Severity | None) -> int:
    """0, or 3 where `--fail-on` says so."""
    if options.fail_on is None or worst is None:
        return 0
    return FOUND if worst.rank >= Severity(options.fail_on).rank else 0


def names_in(text: str) -> list[str]:
    """The names that an option lists."""
    return [name for name in text.split(",") if name]


def with_rules(settings: RunSettings, options: Options) -> RunSettings:
    """The settings with what the options say about rules; what cannot be asked is an error.

    Rules need libraries that would triple the launcher's memory and start, and may be anybody's
    code: where something is said about them, a process of its own looks whether it makes sense, and
    tells what has to be recorded for it.
    """
    if options.no_rules and (options.rules or options.set):
        raise UsageError("--no-rules and --rules or --set exclude each other.")
    asked = AskedRules(tuple(names_in(options.rules)), tuple(options.set), options.no_rules)
    settings = replace(settings, asked=asked)
    is_told = bool(asked.words or settings.rules.rules or settings.rules.setting)
    if asked.is_off or not is_told:
        return settings
    return replace(settings, hook=replace(settings.hook, needed=_needed(settings)))


def _needed(settings: RunSettings) -> tuple[str, ...]:
    words = ["rules", "--json", *settings.asked.words]
    words += ["--config", settings.file] if settings.file is not None else []
    try:
        done = subprocess.run(
            sonde_command(*words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_CHECK_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        limit = f"they may take {_CHECK_SECONDS:g} s"
        raise UsageError(f"The rules in {settings.file} do not load: {limit}") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["they cannot be loaded"]
        raise UsageError(said[-1].removeprefix("sonde: "))
    rules = json.loads(done.stdout)["rules"]
    return tuple(sorted({name for rule in rules for name in rule["looks_at"]}))
