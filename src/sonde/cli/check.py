"""`sonde check`: run rules on a recorded job."""

import argparse
from pathlib import Path
from typing import Any

from sonde.cli._arrow import keep_pandas_out
from sonde.cli._command import Command, Options, add_job, add_json, print_json
from sonde.cli.options.rules import add_fail_on, add_rules, exit_code, names_in
from sonde.client.job import Job
from sonde.client.reports import report_of
from sonde.clock import SystemClock
from sonde.engine.check import check_and_record, check_selection
from sonde.engine.executors import ExecutorKind, RuleSelection
from sonde.report.storage import has_report, store_report
from sonde.results.findings import Judgement
from sonde.rules._selection import parse_assignments
from sonde.settings import load_settings
from sonde.store.places import find_job
from sonde.terminal.findings import judgement_lines
from sonde.terminal.output import print_lines


class Check(Command):
    """Run rules on a recorded job.

    Works for running and finished jobs, with any parameters. Nothing is written without --record.
    """

    example = "sonde check resnet --rules StepOutlier --set StepOutlier.stddev=4 --fail-on warning"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        add_rules(parser)
        parser.add_argument(
            "--config", metavar="FILE", type=Path, help="configuration file with a [rules] section"
        )
        parser.add_argument(
            "--record",
            action="store_true",
            help="record the findings in the job, for `sonde findings`",
        )
        parser.add_argument(
            "--engine",
            choices=[kind.value for kind in ExecutorKind],
            default=ExecutorKind.LOCAL.value,
            help="where rules run: processes on this machine, or Ray (default: local)",
        )
        add_fail_on(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        keep_pandas_out()
        settings = load_settings(options.config)
        parameters = parse_assignments(options.set)
        selection = RuleSelection(tuple(names_in(options.rules)), settings.rules, parameters)
        rules = selection.rules()
        backend = find_job(options.job, options.store)
        if options.record:
            evaluations = check_and_record(backend, rules, SystemClock())
        else:
            evaluations = check_selection(backend, selection, ExecutorKind(options.engine))
        job = Job(backend)
        judgement = Judgement(job.name, evaluations, seen=job.seen)
        if options.record and has_report(backend):
            store_report(report_of(backend), backend)
        if options.json:
            document: dict[str, Any] = {"job": judgement.job, "verdict": judgement.verdict}
            document["coverage"] = judgement.coverage.document()
            print_json({**document, "rules": judgement.documents()})
        else:
            print_lines(judgement_lines(judgement))
        return exit_code(options, judgement.findings.worst)
