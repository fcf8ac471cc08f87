"""`sonde check`: rules over what is recorded."""

import argparse
from pathlib import Path

from sonde.analyze.verdict import last_words
from sonde.cli._command import Command, Options, add_job, add_json, say_json
from sonde.cli._judging import print_judgement
from sonde.cli._rules import add_fail_on, add_rules, exit_code, names_in
from sonde.client.findings import Judgement
from sonde.client.job import Job
from sonde.clock import SystemClock
from sonde.read.job_data import JobData
from sonde.rules._selection import parse_assignments, select_rules
from sonde.settings import load_settings
from sonde.store.places import find_job
from sonde.watch.runner import Recorder, Runner


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
        add_fail_on(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        settings = load_settings(options.config)
        given = parse_assignments(options.set)
        rules = select_rules(names_in(options.rules), settings.rules, given)
        backend = find_job(options.job, options.store)
        clock = SystemClock()
        if options.record:
            recorder = Recorder(backend, clock, rules, last_words)
            recorder.advance()
            runner = recorder.runner
        else:
            runner = Runner(JobData(backend, clock), rules)
            runner.advance()
        judgement = Judgement(Job(backend).name, runner.evaluations)
        if options.json:
            document = {"job": judgement.job, "verdict": judgement.verdict}
            say_json({**document, "rules": judgement.documents()})
        else:
            print_judgement(judgement)
        return exit_code(options, judgement.findings.worst)
