"""`sonde attach`: record a running process."""

import argparse

from sonde.agent.attach import AttachTarget, attach
from sonde.agent.placement import placement
from sonde.agent.registration import Registration, RunRequest, register
from sonde.cli._command import Command, Options, add_json, print_json, print_note, store_uri
from sonde.cli.options.actions import add_actions, with_actions
from sonde.cli.options.recording import add_no_report, add_price, with_options
from sonde.cli.options.rules import add_fail_on, add_no_rules, add_rules, exit_code, with_rules
from sonde.clock import SystemClock
from sonde.errors import JobExistsError
from sonde.settings import RunSettings, load_settings
from sonde.store.layout import report_key
from sonde.terminal.end_of_run import read_verdict, report_uri, verdict_lines


class Attach(Command):
    """Record a running process and its children until it exits.

    Ctrl-C stops the recording; the process continues. Only the parent of a process can read its
    exit code, so the job ends in the state `ended`.
    """

    example = "sonde attach 4711 --name nightly"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("pid", type=int, metavar="PID", help="the ID of the process to record")
        parser.add_argument("--name", help="the job's name (default: program name and time)")
        parser.add_argument("--store", metavar="URI", type=store_uri, help="the store to record to")
        parser.add_argument("--interval", metavar="TIME", help="sampling interval (default: 500ms)")
        add_rules(parser)
        add_no_rules(parser)
        add_actions(parser)
        add_fail_on(parser)
        add_no_report(parser)
        add_price(parser)
        parser.add_argument("--quiet", action="store_true", help="suppress Sonde's own output")
        add_json(parser)

    def execute(self, options: Options) -> int:
        clock = SystemClock()
        target = AttachTarget.find(options.pid)
        settings = with_options(load_settings(None), options)
        settings = with_rules(with_actions(settings, options), options)
        registration = _register(settings, target, clock)
        if not options.quiet:
            print_note(
                f"Recording process {target.pid} as {registration.job}. Ctrl-C stops the recording."
            )
        exit_ = attach(target, registration, settings, clock)
        verdict = None if options.no_rules else read_verdict(registration.backend)
        if not options.quiet:
            print_note(f"{registration.job} {exit_.state.value}: {exit_.message}")
            for line in verdict_lines(verdict, registration.backend.uri):
                print_note(line)
            if registration.backend.exists(report_key("report.html")):
                print_note(f"Report: {report_uri(registration.backend)}")
        if options.json:
            print_json(
                {
                    "job": registration.job,
                    "uri": registration.backend.uri,
                    "state": exit_.state.value,
                    "message": exit_.message,
                }
            )
        return exit_code(options, verdict.worst if verdict else None)


def _register(settings: RunSettings, target: AttachTarget, clock: SystemClock) -> Registration:
    try:
        return register(RunRequest(settings, placement()), target.command, clock)
    except JobExistsError as error:  # its advice, --resume, does not apply here
        problem = f"Job {settings.name!r} already exists in {settings.store}"
        raise JobExistsError(f"{problem}. Choose another --name.") from error
