"""`sonde rm`: remove jobs."""

import argparse
import sys
from collections.abc import Sequence

from sonde.cli._command import (
    Command,
    Options,
    add_json,
    add_store,
    print_json,
    print_line,
    print_note,
)
from sonde.cli._spools import remove_spools_of
from sonde.clock import SystemClock
from sonde.drawing.printable import escape_text
from sonde.errors import UsageError
from sonde.formats import format_bytes
from sonde.read.jobs import JobFacts, read_job
from sonde.store.layout import JOB
from sonde.store.places import find_job
from sonde.store.removal import remove_job

_MAX_PATHS = 5
_STILL_RUNNING = (
    "{name} is still running and keeps recording into the same folder. To end it: sonde stop {name}"
)


class Rm(Command):
    """Permanently remove jobs and everything recorded for them.

    Removes only files that Sonde wrote. If a job's folder is a link, only the link is removed.
    Asks for confirmation on a terminal; otherwise --yes is required. Removing a running job
    requires --force; its launcher keeps recording from then on. `sonde stop` ends it.
    """

    example = "sonde rm resnet-old --yes"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "jobs", metavar="JOB", nargs="+", help="a job's name, or the path or URI of its folder"
        )
        add_store(parser)
        parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
        parser.add_argument(
            "--force", action="store_true", help="remove jobs that are still running"
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        now_ns = SystemClock().now_ns()
        backends = [find_job(reference, options.store) for reference in options.jobs]
        jobs = [read_job(backend, now_ns) for backend in backends]
        for job, backend in zip(jobs, backends, strict=True):
            if job.info is None:
                raise UsageError(
                    f"{backend.uri}/{JOB} is damaged or was not written by Sonde. Nothing removed."
                )
            if not job.state.is_over and not options.force:
                raise UsageError(f"Job {job.name!r} is {job.state.value}. Stop it, or add --force.")
        names = ", ".join(job.name for job in jobs)
        if not options.yes and not _confirm(names):
            print_note("Nothing removed.")
            return 1
        removals = [remove_job(backend) for backend in backends]
        for backend in backends:
            remove_spools_of(backend)
        freed = sum(removal.bytes for removal in removals)
        unknown_files = [
            f"{backend.uri.rstrip('/')}/{key}"
            for backend, removal in zip(backends, removals, strict=True)
            for key in removal.remaining
        ]
        if options.json:
            job_names = [job.name for job in jobs]
            print_json({"removed": job_names, "bytes_freed": freed, "left": unknown_files})
        else:
            print_line(f"Removed {names}; {format_bytes(freed)} freed.")
        _print_notes(jobs, unknown_files)
        return 0


def _print_notes(jobs: Sequence[JobFacts], unknown_files: Sequence[str]) -> None:
    if unknown_files:
        print_note(_not_removed_text(unknown_files))
    for job in jobs:
        if not job.state.is_over:
            print_note(_STILL_RUNNING.format(name=job.name))


def _not_removed_text(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MAX_PATHS} more" if len(paths) > _MAX_PATHS else ""
    return f"Not removed, because Sonde did not write them: {', '.join(paths[:_MAX_PATHS])}{more}"


def _confirm(names: str) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            f"Nothing removed: cannot ask for confirmation here. Add --yes to remove {names}."
        )
    try:
        reply = input(escape_text(f"Permanently remove {names}? [y/N] "))
        return reply.strip().lower() in ("y", "yes")
    except EOFError:  # Ctrl-D means no, and prints no newline
        print_line("")
        return False
