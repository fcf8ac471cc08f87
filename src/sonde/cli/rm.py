"""`sonde rm`: removes jobs."""

import argparse
import sys
from collections.abc import Sequence

from sonde.cli._command import Command, Options, add_json, add_store, remark, say, say_json
from sonde.cli._spools import remove_spools_of
from sonde.clock import SystemClock
from sonde.drawing.printable import visible
from sonde.errors import UsageError
from sonde.formats import format_bytes
from sonde.read.jobs import read_job
from sonde.store.layout import JOB
from sonde.store.places import find_job
from sonde.store.removal import remove_job

_MOST_NAMED = 5


class Rm(Command):
    """Remove jobs and everything recorded of them, for good.

    Only files that Sonde wrote are removed; of a job that is a link, only the link.
    Asks first on a terminal; elsewhere --yes is needed. A running job is refused without --force.
    """

    example = "sonde rm resnet-old --yes"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("jobs", metavar="JOB", nargs="+", help="names, paths or URIs")
        add_store(parser)
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument("--force", action="store_true", help="even if it still runs")
        add_json(parser)

    def execute(self, options: Options) -> int:
        now_ns = SystemClock().now_ns()
        found = [find_job(job, options.store) for job in options.jobs]
        facts = [read_job(backend, now_ns) for backend in found]
        for one, backend in zip(facts, found, strict=True):
            if one.info is None:
                raise UsageError(f"{backend.uri}/{JOB} is damaged or not ours; not removed.")
            if not one.state.is_over and not options.force:
                raise UsageError(f"Job {one.name!r} is {one.state.value}. Stop it, or add --force.")
        names = ", ".join(one.name for one in facts)
        if not options.yes and not _confirm(names):
            remark("Nothing removed.")
            return 1
        removed = [remove_job(backend) for backend in found]
        for backend in found:
            remove_spools_of(backend)
        freed = sum(one.bytes for one in removed)
        left = [
            f"{backend.uri.rstrip('/')}/{key}"
            for backend, one in zip(found, removed, strict=True)
            for key in one.left
        ]
        if options.json:
            job_names = [one.name for one in facts]
            say_json({"removed": job_names, "bytes_freed": freed, "left": left})
        else:
            say(f"removed {names}: {format_bytes(freed)} freed")
        if left:
            remark(_left_alone(left))
        return 0


def _left_alone(left: Sequence[str]) -> str:
    more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    return f"left alone, not written by Sonde: {', '.join(left[:_MOST_NAMED])}{more}"


def _confirm(names: str) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(f"{names} not removed: nobody can be asked here; add --yes.")
    try:
        return input(visible(f"Remove {names} for good? [y/N] ")).strip().lower() in ("y", "yes")
    except EOFError:  # Ctrl-D is a no, and ends no line
        say("")
        return False
