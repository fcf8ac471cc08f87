"""`sonde findings`: what rules found in a job."""

import argparse
from dataclasses import asdict

from sonde.cli._command import Command, Options, add_job, add_json, say, say_json
from sonde.cli.options.rules import add_fail_on, exit_code
from sonde.client.job import Job
from sonde.results.coverage import not_seen
from sonde.store.places import find_job
from sonde.terminal.findings import finding_lines


class FindingsCommand(Command):
    """Show what rules found in a job, the worst first, and what to do about it.

    As it was recorded; of a job in which no rules were recorded, what they find now.
    """

    example = "sonde findings resnet --json"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        add_fail_on(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        job = Job(find_job(options.job, options.store))
        judgement = job.judgement()
        if not len(judgement):
            judgement = job.check()
        if options.json:
            say_json(
                {
                    "job": job.name,
                    "verdict": judgement.verdict,
                    "seen": asdict(job.seen),
                    "coverage": judgement.coverage.document(),
                    "findings": judgement.findings.documents(),
                }
            )
            return exit_code(options, judgement.findings.worst)
        if line := not_seen(asdict(job.seen)):
            say(line)
        if len(judgement.findings):
            for line in finding_lines(judgement.findings):
                say(line)
        else:
            say(judgement.verdict)
        return exit_code(options, judgement.findings.worst)
