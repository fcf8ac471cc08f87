"""`sonde status`: the current state of a job."""

import argparse
import math
from dataclasses import asdict
from typing import Any

from sonde.cli._command import Command, Options, add_job, add_json, print_json
from sonde.cli._spools import send_spools_of, unsent_rows
from sonde.client.job import Job
from sonde.results.headline import headline
from sonde.results.system import StatisticsRow
from sonde.store.places import find_job
from sonde.store.report_writing import is_report_written_now
from sonde.terminal.output import print_lines, width_of_output
from sonde.terminal.resources import RESOURCES
from sonde.terminal.status import status_lines

_MAX_NODES = 50  # reading the samples of a node takes time
_REPORT_STATES = {
    True: "being written",
    None: "interrupted while it was being written; to write it, run `sonde report`",
}
_NUMBERS = ("minimum", "p50", "p90", "p95", "p99", "maximum")


class Status(Command):
    """Show the state of a job, its training progress, resource usage and overhead."""

    example = "sonde status resnet --json"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        backend = find_job(options.job, options.store)
        send_spools_of(backend)
        job = Job(backend)
        table = resources(job)  # first: reading samples may find damage, which the summary reports
        unsent = unsent_rows(backend, job.facts)
        writing = is_report_written_now(backend)
        figures = headline(job)
        judgement = job.judgement()
        sentence = judgement.verdict if judgement.evaluations else ""
        document = {**job.summary, "resources": table, "unsent": unsent}
        document["report"] = _REPORT_STATES[writing] if writing is not False else ""
        if options.json:
            cost = job.cost
            shown = {"headline": [asdict(figure) for figure in figures], "verdict": sentence}
            use = {"efficiency": job.efficiency.document(), "cost": cost and asdict(cost)}
            print_json({**document, **shown, **use})
        else:
            print_lines(status_lines(document, figures, sentence, width_of_output()))
        return 0


def resources(job: Job) -> list[dict[str, Any]]:
    """Statistics of resource usage per node and device."""
    rows: list[dict[str, Any]] = []
    for node in job.nodes[:_MAX_NODES]:
        for metric in RESOURCES:
            # for CPUs only the total; other metrics have no total over devices
            device = "" if metric.startswith("cpu.") else None
            statistics = job.system(metric, node=node, device=device).statistics()
            rows += [_row(row) for row in statistics.rows if row.count]
    return rows


def _row(row: StatisticsRow) -> dict[str, Any]:
    numbers = {name: getattr(row, name) for name in _NUMBERS}
    return {
        "node": row.node,
        "metric": row.series.metric.name,
        "device": row.series.device,
        "unit": row.series.metric.unit,
        "count": row.count,
        **{name: None if math.isnan(value) else value for name, value in numbers.items()},
    }
