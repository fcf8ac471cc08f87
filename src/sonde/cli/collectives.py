"""`sonde collectives`: collective operations, and which worker delays the others."""

import argparse
from typing import Any

from rich.text import Text

from sonde.cli._command import Command, Options, add_job, add_json, print_json
from sonde.client.job import Job
from sonde.results.collectives import Collectives
from sonde.store.places import find_job
from sonde.terminal.output import print_lines


class CollectivesCommand(Command):
    """Show collective operations, which worker delays the others, and clock offsets.

    The `distributed` profiler records calls from Python. The `operators` profiler records calls
    that DDP and others make from C++.
    """

    example = "sonde collectives resnet"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument("--start-step", metavar="N", type=int, help="first training step")
        parser.add_argument(
            "--end-step",
            metavar="N",
            type=int,
            help="end of the range of training steps (exclusive)",
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        job = Job(find_job(options.job, options.store))
        collectives = job.collectives(start_step=options.start_step, end_step=options.end_step)
        if options.json:
            print_json({"job": job.name, **_document(collectives)})
        else:
            print_lines([Text(line) for line in repr(collectives).splitlines()])
        return 0


def _document(collectives: Collectives) -> dict[str, Any]:
    return {
        "calls": len(collectives),
        "matched": collectives.matches,
        "slow_worker": collectives.slow_worker,
        "verdict": collectives.verdict,
        "operations": collectives.by_operation().documents(),
        "workers": collectives.by_worker().documents(),
        "clocks": collectives.clocks.to_arrow().to_pylist(),
    }
