"""`sonde operators`: operators and kernels of profiled steps."""

import argparse
from typing import Any

from sonde.cli._command import Command, Options, add_job, add_json, print_json, print_line
from sonde.client.job import Job
from sonde.clock import NANOSECONDS
from sonde.results.operators import DEVICES, EMPTY, GPU, ORDERS, Operators
from sonde.store.places import find_job
from sonde.store.waiting_traces import waiting_traces
from sonde.terminal.operators import operators_lines
from sonde.terminal.output import print_lines

_GROUPS = ("module", "phase", "kernel")
_MAX_GAPS = 20
_WAITING = "The recorded traces are not decoded yet. Decode them: sonde compact {job}"


class OperatorsCommand(Command):
    """Show operators, kernels, device utilization and idle time of profiled steps."""

    example = "sonde operators resnet --device cpu --by total"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument(
            "--device",
            choices=DEVICES,
            help="rank operators by CPU time or by GPU time (default: gpu, if one was used)",
        )
        parser.add_argument(
            "--by",
            choices=(*ORDERS, *_GROUPS),
            default="self",
            help="sort by time excluding (self) or including (total) called operators, or group by "
            "module, phase or kernel (default: self)",
        )
        parser.add_argument("--worker", metavar="RANK", help="only this worker (default: all)")
        parser.add_argument(
            "--top", metavar="N", type=_count, default=20, help="number of rows (default: 20)"
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        backend = find_job(options.job, options.store)
        job = Job(backend)
        group = options.by if options.by in _GROUPS else "operator"
        operators = job.operators(options.device, by=group, worker=options.worker)
        if options.json:
            print_json({"job": job.name, **operators_document(operators, options.by, options.top)})
        elif not operators.profiles:
            is_waiting = any(waiting_traces(backend))
            print_line(f"{job.name}: {_WAITING.format(job=options.job) if is_waiting else EMPTY}")
        elif operators.shown_device == GPU and not operators.has_gpu:
            print_line(f"{job.name}: No GPU operations recorded. For CPU time, use --device cpu")
        else:
            document = operators_document(operators, options.by, options.top)
            print_lines(operators_lines(document))
        return 0


def operators_document(operators: Operators, by: str, max_rows: int) -> dict[str, Any]:
    """The profiled windows as plain JSON values."""
    operator_rows = operators.top(None, by if by in ORDERS else "self")
    rows = operator_rows.to_arrow().to_pylist()
    shown, rest = rows[:max_rows], rows[max_rows:]
    gaps, phases = operators.gaps(), operators.phases()
    return {
        "device": operators.shown_device,
        "by": by,
        "group": operators.group,
        "workers": len({profile.worker for profile in operators.profiles}),
        "steps": operators.steps,
        "window_seconds": sum(profile.wall_ns for profile in operators.profiles) / NANOSECONDS,
        "breakdown": operators.breakdown().to_arrow().to_pylist(),
        "operators": shown,
        "operators_left_out": {"count": len(rest), "percent": sum(row["percent"] for row in rest)},
        "not_covered_percent": operator_rows.not_covered_percent,
        "phases": phases.to_arrow().to_pylist(),
        "gaps": {
            "causes": gaps.causes().documents(),
            "places": gaps.places().documents()[:_MAX_GAPS],
            "longest": gaps.longest(_MAX_GAPS).documents(),
        },
        "synchronizations": gaps.synchronizations().documents(),
        "launches": operators.launches().documents(),
    }


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows. Use 1 or more")
    return number
