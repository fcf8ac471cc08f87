"""`sonde status`: one job at this moment."""

import argparse

from sonde.cli._command import Command, Options, add_job, add_json, say, say_json
from sonde.clock import SystemClock
from sonde.read.jobs import read_job
from sonde.read.status import status_document
from sonde.show.terminal import status_lines
from sonde.store.places import find_job


class Status(Command):
    """Show one job: where it stands, why it ended, what it cost, what was lost."""

    example = "sonde status resnet --json"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        now_ns = SystemClock().now_ns()
        document = status_document(read_job(find_job(options.job, options.store), now_ns), now_ns)
        if options.json:
            say_json(document)
        else:
            for line in status_lines(document):
                say(line)
        return 0
