"""Options for the actions that findings trigger."""

import argparse
from dataclasses import replace
from pathlib import Path

from sonde.actions import build_action
from sonde.cli._command import Options
from sonde.errors import UsageError
from sonde.settings import RunSettings


def add_actions(parser: argparse.ArgumentParser) -> None:
    """Add --action."""
    parser.add_argument(
        "--action",
        metavar="A,B",
        action="append",
        default=[],
        help="actions for the findings of all rules, such as stop,email (see `sonde actions`); "
        "repeatable",
    )


def with_actions(settings: RunSettings, options: Options) -> RunSettings:
    """Add the requested actions to the settings.

    Raises:
        UsageError: An action does not exist, or cannot work as it is set up.
    """
    if options.no_rules and options.action:
        raise UsageError("--no-rules and --action cannot be combined: actions need rules.")
    if options.action and not settings.rules.live:
        raise UsageError("--action needs live rules, but [rules] live = false turns them off.")
    settings = replace(settings, actions=settings.actions.with_requested(options.action))
    names = {name for rule in settings.rules.rules for name in rule.actions or ()}
    names |= {*settings.rules.actions, *settings.actions.requested}
    names |= {action.name for action in settings.actions.actions}
    for name in sorted(names):
        build_action(settings.actions.of(name), Path.cwd())
    return settings
