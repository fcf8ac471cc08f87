"""`sonde dataloader`: data loading time and how to reduce it."""

import argparse

from sonde.cli._command import Command, Options, add_job, add_json, print_json
from sonde.client.job import Job
from sonde.store.places import find_job
from sonde.terminal.dataloader import loader_lines
from sonde.terminal.output import print_lines


class DataLoader(Command):
    """Show data loading time per loader, slow functions, and recommendations.

    Wait times and iterator starts are always recorded. Time inside a batch is recorded in windows
    of the `dataloader` profiler.
    """

    example = "sonde dataloader resnet"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument("--worker", metavar="RANK", help="only this worker")
        add_json(parser)

    def execute(self, options: Options) -> int:
        job = Job(find_job(options.job, options.store))
        loaders = job.dataloader(worker=options.worker).documents()
        if options.json:
            print_json({"job": job.name, "loaders": loaders})
        else:
            print_lines(loader_lines(loaders))
        return 0
