"""`sonde status`: one job at this moment."""

import argparse
import math
from typing import Any

from sonde.cli._command import Command, Options, add_job, add_json, say_json
from sonde.cli._spools import send_spools_of, unsent_rows
from sonde.client.job import Job
from sonde.results.system import StatisticsRow
from sonde.store.places import find_job
from sonde.terminal.text import RESOURCES, print_lines, status_lines

_MOST_NODES = 50  # each has to be read whole, and nobody reads so many tables
_NUMBERS = ("minimum", "p50", "p90", "p95", "p99", "maximum")


class Status(Command):
    """Show one job: what became of it and why, what it used, what watching cost, what was lost."""

    example = "sonde status resnet --json"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        backend = find_job(options.job, options.store)
        send_spools_of(backend)
        job = Job(backend)
        table = resources(job)  # reading the samples may find damage, which the summary tells
        unsent = unsent_rows(backend, job.facts)
        document = {**job.summary, "resources": table, "unsent": unsent}
        if options.json:
            say_json(document)
        else:
            print_lines(status_lines(document))
        return 0


def resources(job: Job) -> list[dict[str, Any]]:
    """The table of resources: per node and device, what was used at least, mostly and at most."""
    rows: list[dict[str, Any]] = []
    for node in job.nodes[:_MOST_NODES]:
        for metric in RESOURCES:
            # of the cores only the whole is wanted; what has devices has no whole
            device = "" if metric.startswith("cpu.") else None
            found = job.system(metric, node=node, device=device).statistics()
            rows += [_row(one) for one in found.rows if one.count]
    return rows


def _row(one: StatisticsRow) -> dict[str, Any]:
    numbers = {name: getattr(one, name) for name in _NUMBERS}
    return {
        "node": one.node,
        "metric": one.series.metric.name,
        "device": one.series.device,
        "unit": one.series.metric.unit,
        "count": one.count,
        **{name: None if math.isnan(value) else value for name, value in numbers.items()},
    }
