"""What commands that may act on findings share: the option, and whether it can be done."""

import argparse
from dataclasses import replace
from pathlib import Path

from sonde.act import build_action
from sonde.cli._command import Options
from sonde.errors import UsageError
from sonde.settings import RuleSettings, RunSettings

_STOP, _NON_FINITE = "stop", "explodingtensor"


def add_actions(parser: argparse.ArgumentParser) -> None:
    """What follows a finding."""
    parser.add_argument(
        "--action",
        metavar="A,B",
        action="append",
        default=[],
        help="what follows the findings of all rules, like stop,email: `sonde actions`; repeatable",
    )


def with_actions(settings: RunSettings, options: Options) -> RunSettings:
    """The settings with what the option asks for; what can never be done is an error."""
    if options.no_rules and options.action:
        raise UsageError("--no-rules and --action exclude each other: what rules find is acted on.")
    if options.action and not settings.rules.live:
        raise UsageError("[rules] live = false and --action exclude each other: nobody would act.")
    settings = replace(settings, actions=settings.actions.with_asked(options.action))
    names = {name for one in settings.rules.rules for name in one.actions or ()}
    names |= {*settings.rules.actions, *settings.actions.asked}
    names |= {one.name for one in settings.actions.actions}
    for name in sorted(names):
        build_action(settings.actions.of(name), Path.cwd())
    is_asked = _is_asked(settings, options)
    if is_asked and any(_stops_on_non_finite(one, settings) for one in settings.rules.rules):
        settings = replace(settings, hook=replace(settings.hook, stop_on_non_finite=True))
    return settings


def _is_asked(settings: RunSettings, options: Options) -> bool:
    """Whether the rule about non-finite values judges the job while it runs."""
    names = [_plain(name) for name in options.rules.split(",") if name]
    is_chosen = not names or _NON_FINITE in names
    return settings.rules.live and not options.no_rules and is_chosen


def _plain(rule: str) -> str:
    return rule.replace("_", "").lower()


def _stops_on_non_finite(rule: RuleSettings, settings: RunSettings) -> bool:
    """Whether the job is to stop on values that are not finite: then before they do damage."""
    kinds = {settings.actions.of(name).kind for name in rule.actions or ()}
    return _plain(rule.rule) == _NON_FINITE and _STOP in kinds
