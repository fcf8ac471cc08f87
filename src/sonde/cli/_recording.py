"""What `run` and `attach` share: how a recording is set on the command line."""

import argparse
from dataclasses import replace

from sonde.cli._command import Options
from sonde.settings import RunSettings, parse_interval


def add_no_report(parser: argparse.ArgumentParser) -> None:
    """The switch for those who want no page."""
    parser.add_argument("--no-report", action="store_true", help="write no report by itself")


def with_options(settings: RunSettings, options: Options) -> RunSettings:
    """The settings with the options on top that were given."""
    interval = options.interval
    if options.no_report:
        actions = replace(settings.actions, rewrites_report=False)
        settings = replace(settings, report_at_end=False, actions=actions)
    given = {
        "name": options.name,
        "store": options.store,
        "interval_seconds": None if interval is None else parse_interval(interval, "--interval"),
    }
    return replace(settings, **{key: value for key, value in given.items() if value is not None})
