"""`sonde advise`: what would make a job faster."""

import argparse
from dataclasses import asdict

from sonde.cli._command import Command, Options, add_job, add_json, print_json, print_line
from sonde.client.job import Job
from sonde.store.places import find_job
from sonde.terminal.advice import advice_lines


class Advise(Command):
    """Show what would make a job faster, the largest predicted speed-up first.

    Findings that share a cause are one item. Each remedy has code, the predicted speed-up, and how
    it was predicted. If rules ran with the job, their findings are used; otherwise they run now.
    """

    example = "sonde advise resnet"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        job = Job(find_job(options.job, options.store))
        advice, cost = job.advice(), job.cost
        if options.json:
            print_json({"job": job.name, "advice": asdict(advice), "cost": cost and asdict(cost)})
        else:
            for line in advice_lines(advice, cost):
                print_line(line)
        return 0
