"""`sonde compare`: what differs between jobs, and where they diverge."""

import argparse

from sonde.cli._command import Command, Options, add_json, add_store, print_json
from sonde.client.job import Job
from sonde.errors import UsageError
from sonde.results.comparison import JobComparison
from sonde.store.places import find_job
from sonde.terminal.comparison import comparison_lines
from sonde.terminal.output import print_lines


class Compare(Command):
    """Compare jobs with the first one: settings, speed, losses, findings, first divergence.

    Differences of step times are shown with their 95% interval. The first 10% of the steps (up to
    10) do not count, because caches are cold. The first divergence is the earliest step at which a
    scalar, or the mean or norm of a tensor, differs by more than rounding.
    """

    example = "sonde compare baseline candidate"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        help_text = "names of jobs, or paths or URIs of their folders; the first is the baseline"
        parser.add_argument("jobs", metavar="JOB", nargs="+", help=help_text)
        add_store(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        if len(options.jobs) < 2:
            raise UsageError("Name at least two jobs to compare.")
        comparison = JobComparison(tuple(Job(find_job(job, options.store)) for job in options.jobs))
        if options.json:
            print_json(comparison.document())
        else:
            print_lines(comparison_lines(comparison))
        return 0
