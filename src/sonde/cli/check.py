"""`sonde check`: run rules over what is recorded."""

import argparse
from pathlib import Path
from typing import Any

from sonde.cli._command import Command, Options, add_job, add_json, say, say_json
from sonde.cli.options.rules import add_fail_on, add_rules, exit_code, names_in
from sonde.client.job import Job
from sonde.client.reports import report_of
from sonde.clock import SystemClock
from sonde.engine.check import check_and_record, check_selection
from sonde.engine.executors import ExecutorKind, RuleSelection
from sonde.report.storage import has_report, keep_report
from sonde.results.findings import Judgement
from sonde.rules._selection import parse_assignments
from sonde.settings import load_settings
from sonde.store.places import find_job
from sonde.terminal.findings import judgement_lines


class Check(Command):
    """Ask rules about what is recorded of a job.

    Any job, running or over, with any parameters; nothing is written unless --record is given.
    """

    example = "sonde check resnet --rules StepOutlier --set StepOutlier.stddev=4 --fail-on warning"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        add_rules(parser)
        parser.add_argument(
            "--config", metavar="FILE", type=Path, help="take [rules] from this configuration file"
        )
        parser.add_argument(
            "--record", action="store_true", help="keep what is found; `sonde findings` shows it"
        )
        parser.add_argument(
            "--engine",
            choices=[one.value for one in ExecutorKind],
            default=ExecutorKind.LOCAL.value,
            help="who works: processes of this machine, as many as the job is worth, or Ray",
        )
        add_fail_on(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
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
            keep_report(report_of(backend), backend)
        if options.json:
            document: dict[str, Any] = {"job": judgement.job, "verdict": judgement.verdict}
            document["coverage"] = judgement.coverage.document()
            say_json({**document, "rules": judgement.documents()})
        else:
            for line in judgement_lines(judgement):
                say(line)
        return exit_code(options, judgement.findings.worst)
