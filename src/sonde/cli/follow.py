"""`sonde follow`: run rules on a running job."""

import argparse
from functools import partial
from pathlib import Path

from sonde.cli._arrow import keep_pandas_out
from sonde.cli._command import Command, Options, add_job
from sonde.cli._traces import decode_traces
from sonde.cli.options.actions import add_actions
from sonde.cli.options.recording import add_no_report
from sonde.cli.options.rules import add_rules, names_in
from sonde.clock import SystemClock
from sonde.engine.monitor import MonitorOptions, monitor
from sonde.rules._selection import parse_assignments, select_rules
from sonde.settings import load_settings
from sonde.store.places import find_job


class Follow(Command):
    """Run rules on a running job and record their findings.

    `sonde run` starts this automatically, at low priority. Only one process monitors a job at a
    time; if it crashes, its successor continues where it stopped.
    """

    example = "sonde follow resnet --rules LossNotDecreasing,StepOutlier"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        add_rules(parser)
        add_actions(parser)
        add_no_report(parser)
        parser.add_argument(
            "--config",
            metavar="FILE",
            type=Path,
            help="configuration file with [rules] and [actions]",
        )
        parser.add_argument(
            "--attempt",
            metavar="NODE/NUMBER",
            help="exit when this attempt ends, even if other nodes continue",
        )

    def execute(self, options: Options) -> int:
        keep_pandas_out()
        settings = load_settings(options.config)
        parameters = parse_assignments(options.set)
        rules = select_rules(names_in(options.rules), settings.rules, parameters)
        backend = find_job(options.job, options.store)
        node = options.attempt.rpartition("/")[0] if options.attempt else None
        monitor(
            backend,
            SystemClock(),
            rules,
            MonitorOptions(
                settings,
                options.action,
                options.attempt,
                not options.no_report,
                # here and not in a process of its own: starting one takes longer than most traces
                before_end=partial(decode_traces, backend, node),
            ),
        )
        return 0
