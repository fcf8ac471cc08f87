"""Options that select rules, and what the selected rules need recorded."""

import argparse
import json
import subprocess
from dataclasses import replace
from typing import Any

from sonde.cli._command import Options
from sonde.errors import UsageError
from sonde.formats import format_duration
from sonde.records.finding import Severity
from sonde.settings import RuleOptions, RunSettings
from sonde.side_process import sonde_command

FINDINGS_EXIT_CODE = 3  # the exit code for findings at or above `--fail-on`

_STOP = "stop"

_CHECK_SECONDS = 60.0


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add --rules and --set."""
    parser.add_argument(
        "--rules",
        metavar="A,B",
        default="",
        help="run only these rules (default: all; see `sonde rules`)",
    )
    parser.add_argument(
        "--set",
        metavar="RULE.PARAMETER=VALUE",
        action="append",
        default=[],
        help="set a parameter of a rule, or its setting=classic; repeatable",
    )


def add_no_rules(parser: argparse.ArgumentParser) -> None:
    """Add --no-rules."""
    parser.add_argument(
        "--no-rules", action="store_true", help="run no rules; `sonde check` can run them later"
    )


def add_fail_on(parser: argparse.ArgumentParser) -> None:
    """Add --fail-on."""
    parser.add_argument(
        "--fail-on",
        choices=[severity.value for severity in Severity],
        help="exit with code 3 if a finding has at least this severity",
    )


def exit_code(options: Options, worst: Severity | None) -> int:
    """Return 3 if a finding reaches the severity of --fail-on, else 0."""
    if options.fail_on is None or worst is None:
        return 0
    return FINDINGS_EXIT_CODE if worst.rank >= Severity(options.fail_on).rank else 0


def names_in(text: str) -> list[str]:
    """Split a comma-separated option."""
    return [name for name in text.split(",") if name]


def with_rules(settings: RunSettings, options: Options) -> RunSettings:
    """Add the selected rules to the settings, with what they need recorded.

    Importing rules would triple the launcher's memory and start-up time, and rules may be anyone's
    code. If rules are selected, a separate process validates them and reports what they need.

    Raises:
        UsageError: A rule or a parameter does not exist.
    """
    if options.no_rules and (options.rules or options.set):
        raise UsageError("--no-rules cannot be combined with --rules or --set.")
    selection = RuleOptions(tuple(names_in(options.rules)), tuple(options.set), options.no_rules)
    settings = replace(settings, rule_options=selection)
    is_selected = bool(selection.words or settings.rules.rules or settings.rules.setting)
    if selection.is_off or not is_selected:
        return settings
    rules = _load_rules(settings)
    hook = replace(
        settings.hook, needed=tuple(sorted({name for rule in rules for name in rule["looks_at"]}))
    )
    stop_rule = _stop_rule(settings, rules) if settings.rules.live else ""
    if stop_rule:
        hook = replace(hook, stop_on_non_finite=True, stop_rule=stop_rule)
    return replace(settings, hook=hook)


def _stop_rule(settings: RunSettings, rules: list[dict[str, Any]]) -> str:
    """The rule that can prevent damage and has a stop action: the hook then stops in time."""
    preventing = {
        _plain_name(rule["rule"]): rule["rule"] for rule in rules if rule["stops_before_damage"]
    }
    stop_rules = (
        preventing[_plain_name(rule.rule)]
        for rule in settings.rules.rules
        if _plain_name(rule.rule) in preventing
        for name in rule.actions or ()
        if settings.actions.of(name).kind == _STOP
        and "job_prefix" not in settings.actions.of(name).table
    )
    return next(stop_rules, "")


def _plain_name(rule: str) -> str:
    return rule.replace("_", "").lower()


def _load_rules(settings: RunSettings) -> list[dict[str, Any]]:
    """Load the selected rules in another process and return what they declare."""
    words = ["rules", "--json", *settings.rule_options.words]
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
        raise UsageError(
            f"Loading the rules in {settings.file} took longer than "
            f"{format_duration(_CHECK_SECONDS)}."
        ) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["The rules cannot be loaded."]
        raise UsageError(lines[-1].removeprefix("sonde: "))
    rules: list[dict[str, Any]] = json.loads(done.stdout)["rules"]
    return rules
