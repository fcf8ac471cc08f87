"""`sonde check`: rules over what is recorded."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sonde.cli._command import Command, Options, add_job, add_json, say_json
from sonde.cli._judging import judge_of, print_judgement
from sonde.cli._rules import add_fail_on, add_rules, exit_code, names_in
from sonde.client.findings import Judgement
from sonde.client.job import Job
from sonde.client.reports import report_of
from sonde.clock import SystemClock
from sonde.errors import UsageError
from sonde.records.finding import Evaluation
from sonde.rules import Rule
from sonde.rules._selection import parse_assignments, select_rules
from sonde.settings import load_settings, placement
from sonde.show.report.kept import has_report, keep_report
from sonde.store.backends import Backend
from sonde.store.lease import Leasing
from sonde.store.places import find_job
from sonde.watch.engines import EngineKind, Question, ask, engine_for
from sonde.watch.garbage import collect_seldom
from sonde.watch.runner import Recorder


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
            choices=[one.value for one in EngineKind],
            default=EngineKind.LOCAL.value,
            help="who works: processes of this machine, as many as the job is worth, or Ray",
        )
        add_fail_on(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        settings = load_settings(options.config)
        given = parse_assignments(options.set)
        question = Question(tuple(names_in(options.rules)), settings.rules, given)
        rules = select_rules(question.names, question.settings, question.given)
        backend = find_job(options.job, options.store)
        collect_seldom()
        if options.record:
            evaluations = _recorded(backend, rules)
        else:
            engine = engine_for(EngineKind(options.engine), backend)
            evaluations = ask(engine, backend.uri, question, len(rules))
        job = Job(backend)
        judgement = Judgement(job.name, evaluations, seen=job.seen)
        if options.record and has_report(backend):
            keep_report(report_of(Job(backend), backend), backend)
        if options.json:
            document: dict[str, Any] = {"job": judgement.job, "verdict": judgement.verdict}
            document["coverage"] = judgement.coverage.document()
            say_json({**document, "rules": judgement.documents()})
        else:
            print_judgement(judgement)
        return exit_code(options, judgement.findings.worst)


def _recorded(backend: Backend, rules: Sequence[Rule]) -> tuple[Evaluation, ...]:
    """Goes on where the last one stopped; alone, because what comes after rests on before."""
    clock = SystemClock()
    leasing = Leasing(backend, clock, placement().node)
    if not leasing.is_free():
        raise UsageError(f"{leasing.holder} watches the job just now. Leave out --record.")
    recorder = Recorder(backend, clock, rules, judge_of(backend, clock))
    recorder.advance()
    return recorder.runner.evaluations
