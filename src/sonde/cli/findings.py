"""`sonde findings`: the issues that rules found in a job."""

import argparse
from dataclasses import asdict

from sonde.cli._command import Command, Options, add_job, add_json, print_json, print_line
from sonde.cli.options.rules import add_fail_on, exit_code
from sonde.client.job import Job
from sonde.results.coverage import unrecorded_line
from sonde.store.places import find_job
from sonde.terminal.findings import finding_lines
from sonde.terminal.output import print_lines


class FindingsCommand(Command):
    """Show the issues found in a job, most severe first, with recommendations.

    Shows the recorded findings. If no rules ran with the job, they run now.
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
            print_json(
                {
                    "job": job.name,
                    "verdict": judgement.verdict,
                    "seen": asdict(job.seen),
                    "coverage": judgement.coverage.document(),
                    "findings": judgement.findings.documents(),
                }
            )
            return exit_code(options, judgement.findings.worst)
        if line := unrecorded_line(asdict(job.seen)):
            print_line(line)
        if len(judgement.findings):
            print_lines(finding_lines(judgement.findings))
        else:
            print_line(judgement.verdict)
        return exit_code(options, judgement.findings.worst)
