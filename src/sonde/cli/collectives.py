"""`sonde collectives`: who waits for whom."""

import argparse
from typing import Any

from rich.text import Text

from sonde.cli._command import Command, Options, add_job, add_json, say_json
from sonde.client.job import Job
from sonde.results.collectives import Collectives
from sonde.store.places import find_job
from sonde.terminal.text import print_lines


class CollectivesCommand(Command):
    """Show what workers exchange, who waits for whom, and how far their clocks are apart.

    Calls are seen in the windows of the `distributed` profiler; what DDP and others start from C++,
    in those of the `operators` profiler.
    """

    example = "sonde collectives resnet"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument("--start-step", metavar="N", type=int, help="the first training step")
        parser.add_argument(
            "--end-step", metavar="N", type=int, help="the first that is not wanted any more"
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        job = Job(find_job(options.job, options.store))
        found = job.collectives(start_step=options.start_step, end_step=options.end_step)
        if options.json:
            say_json({"job": job.name, **_document(found)})
        else:
            print_lines([Text(line) for line in repr(found).splitlines()])
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
