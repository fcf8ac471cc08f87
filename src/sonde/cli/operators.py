"""`sonde operators`: what the profiled steps did, operator by operator."""

import argparse
from typing import Any

from sonde.cli._command import Command, Options, add_job, add_json, say, say_json
from sonde.client.job import Job
from sonde.clock import NANOSECONDS
from sonde.results.operators import DEVICES, GPU, NOTHING, ORDERS, Operators
from sonde.store.places import find_job
from sonde.store.waiting_traces import waiting_traces
from sonde.terminal.operators import operators_lines
from sonde.terminal.text import print_lines

_GROUPS = ("module", "phase", "kernel")
_MOST_GAPS = 20
_WAITING = "what was recorded waits to be decoded; to do so now: sonde compact {job}"


class OperatorsCommand(Command):
    """Show what profiled steps did: operators, kernels, how devices spent their time, why idle."""

    example = "sonde operators resnet --device cpu --by total"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument(
            "--device",
            choices=DEVICES,
            help="operators by the time of the host's threads, or of what they started on GPUs "
            "(default: gpu where one was used)",
        )
        parser.add_argument(
            "--by",
            choices=(*ORDERS, *_GROUPS),
            default="self",
            help="the order: time without what an operator called, or with it; or per module, "
            "phase of the step, or kernel (default: self)",
        )
        parser.add_argument("--worker", metavar="RANK", help="one rank (default: all together)")
        parser.add_argument(
            "--top", metavar="N", type=_count, default=20, help="how many (default: 20)"
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        backend = find_job(options.job, options.store)
        job = Job(backend)
        group = options.by if options.by in _GROUPS else "operator"
        operators = job.operators(options.device, by=group, worker=options.worker)
        if options.json:
            say_json({"job": job.name, **operators_document(operators, options.by, options.top)})
        elif not operators.profiles:
            is_waiting = any(waiting_traces(backend))
            say(f"{job.name}: {_WAITING.format(job=options.job) if is_waiting else NOTHING}")
        elif operators.shown_device == GPU and not operators.has_gpu:
            say(f"{job.name}: nothing was recorded on a GPU; what the host did: --device cpu")
        else:
            document = operators_document(operators, options.by, options.top)
            print_lines(operators_lines(document))
        return 0


def operators_document(operators: Operators, by: str, most: int) -> dict[str, Any]:
    """All that is known of the windows, as plain values."""
    everything = operators.top(None, by if by in ORDERS else "self")
    rows = everything.to_arrow().to_pylist()
    shown, rest = rows[:most], rows[most:]
    gaps, phases = operators.gaps(), operators.phases()
    return {
        "device": operators.shown_device,
        "by": by,
        "group": operators.group,
        "workers": len({one.worker for one in operators.profiles}),
        "steps": operators.steps,
        "window_seconds": sum(one.wall_ns for one in operators.profiles) / NANOSECONDS,
        "breakdown": operators.breakdown().to_arrow().to_pylist(),
        "operators": shown,
        "operators_left_out": {"count": len(rest), "percent": sum(row["percent"] for row in rest)},
        "not_covered_percent": everything.not_covered_percent,
        "phases": phases.to_arrow().to_pylist(),
        "gaps": {
            "causes": gaps.causes().documents(),
            "places": gaps.places().documents()[:_MOST_GAPS],
            "longest": gaps.longest(_MOST_GAPS).documents(),
        },
        "synchronizations": gaps.synchronizations().documents(),
        "launches": operators.launches().documents(),
    }


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows. Use 1 or more")
    return number
