"""`sonde follow`: run rules on a job while it runs."""

import argparse
from pathlib import Path

from sonde.cli._command import Command, Options, add_job
from sonde.cli.options.actions import add_actions
from sonde.cli.options.recording import add_no_report
from sonde.cli.options.rules import add_rules, names_in
from sonde.clock import SystemClock
from sonde.engine.monitor import MonitorOptions, monitor
from sonde.rules._selection import parse_assignments, select_rules
from sonde.settings import load_settings
from sonde.store.places import find_job


class Follow(Command):
    """Let rules watch a job while it runs, and keep what they find.

    `sonde run` starts this by itself, at low priority. One watches a job at a time; if it dies,
    another goes on where it was.
    """

    example = "sonde follow resnet --rules LossNotDecreasing,StepOutlier"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        add_rules(parser)
        add_actions(parser)
        add_no_report(parser)
        parser.add_argument(
            "--config", metavar="FILE", type=Path, help="take [rules] and [actions] from this file"
        )
        parser.add_argument(
            "--attempt",
            metavar="NODE/NUMBER",
            help="leave when this attempt at the job is over, though others go on",
        )

    def execute(self, options: Options) -> int:
        settings = load_settings(options.config)
        parameters = parse_assignments(options.set)
        rules = select_rules(names_in(options.rules), settings.rules, parameters)
        backend = find_job(options.job, options.store)
        monitor(
            backend,
            SystemClock(),
            rules,
            MonitorOptions(settings, options.action, options.attempt, not options.no_report),
        )
        return 0
