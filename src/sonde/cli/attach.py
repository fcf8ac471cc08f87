"""`sonde attach`: watches a process that already runs."""

import argparse

from sonde.agent.attach import Attached, attach
from sonde.agent.registration import Registration, Wish, register
from sonde.cli._command import Command, Options, add_json, remark, say_json, store_uri
from sonde.cli.options.actions import add_actions, with_actions
from sonde.cli.options.recording import add_no_report, with_options
from sonde.cli.options.rules import add_fail_on, add_no_rules, add_rules, exit_code, with_rules
from sonde.clock import SystemClock
from sonde.errors import JobExistsError
from sonde.settings import RunSettings, load_settings, placement
from sonde.store.layout import report_key
from sonde.terminal.end_of_run import read_verdict, report_place, verdict_lines


class Attach(Command):
    """Record a process that already runs, and what it starts, until it ends.

    Ctrl-C ends the recording and leaves the process alone. Its exit code is known only to its
    parent: such a job ends in the state `ended`.
    """

    example = "sonde attach 4711 --name nightly"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("pid", type=int, metavar="PID", help="the process")
        parser.add_argument("--name", help="the job's name (default: program name and time)")
        parser.add_argument("--store", metavar="URI", type=store_uri, help="where to record it")
        parser.add_argument("--interval", metavar="TIME", help="between samples (default: 500ms)")
        add_rules(parser)
        add_no_rules(parser)
        add_actions(parser)
        add_fail_on(parser)
        add_no_report(parser)
        parser.add_argument("--quiet", action="store_true", help="print nothing of our own")
        add_json(parser)

    def execute(self, options: Options) -> int:
        clock = SystemClock()
        target = Attached.find(options.pid)
        settings = with_options(load_settings(None), options)
        settings = with_rules(with_actions(settings, options), options)
        registration = _register(settings, target, clock)
        if not options.quiet:
            remark(f"recording process {target.pid} as {registration.job}; Ctrl-C ends that")
        exit_ = attach(target, registration, settings, clock)
        verdict = None if options.no_rules else read_verdict(registration.backend)
        if not options.quiet:
            remark(f"{registration.job} {exit_.state.value}: {exit_.message}")
            for line in verdict_lines(verdict, registration.backend.uri):
                remark(line)
            if registration.backend.exists(report_key("report.html")):
                remark(f"report: {report_place(registration.backend)}")
        if options.json:
            say_json(
                {
                    "job": registration.job,
                    "uri": registration.backend.uri,
                    "state": exit_.state.value,
                    "message": exit_.message,
                }
            )
        return exit_code(options, verdict.worst if verdict else None)


def _register(settings: RunSettings, target: Attached, clock: SystemClock) -> Registration:
    try:
        return register(Wish(settings, placement()), target.command, clock)
    except JobExistsError as error:  # the advice for `sonde run` is none here
        taken = f"Job {settings.name!r} exists in {settings.store}"
        raise JobExistsError(f"{taken}. Choose another --name.") from error
