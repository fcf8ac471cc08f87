"""`sonde dataloader`: what a job's data loaders cost."""

import argparse

from sonde.cli._command import Command, Options, add_job, add_json, say_json
from sonde.client.job import Job
from sonde.store.places import find_job
from sonde.terminal.dataloader import loader_lines
from sonde.terminal.text import print_lines


class DataLoader(Command):
    """Show what data loaders cost: batches, waits, the slow function in them, and what to do.

    Waits and starts of iterators are always recorded; what happens inside of a batch is seen in
    the windows of the `dataloader` profiler.
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
            say_json({"job": job.name, "loaders": loaders})
        else:
            print_lines(loader_lines(loaders))
        return 0
