"""`sonde send`: send unsent data on this machine to its object store."""

import argparse
from pathlib import Path

from sonde.agent.spool_takeover import PATIENCE_SECONDS, SpoolTakeover
from sonde.cli._command import Command, Options, print_line, print_note
from sonde.clock import SystemClock
from sonde.errors import StoreError, UsageError
from sonde.store.backends import open_backend
from sonde.store.spool import Spool, local_spools

_LOCK_SECONDS = 2.0


class Send(Command):
    """Send recorded data from this machine to its object store.

    A job with an s3:// store writes to a local folder first. If its launcher is killed, or the
    store does not respond at the end, a background process sends the rest. Use this command if
    that process is gone, too. Without FOLDER, sends the data of all your jobs on this machine.
    """

    example = "sonde send"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "folder", metavar="FOLDER", nargs="?", type=Path, help="the folder to send"
        )
        parser.add_argument("--quiet", action="store_true", help="print nothing")
        parser.add_argument("--lock", type=int, help=argparse.SUPPRESS)

    def execute(self, options: Options) -> int:
        if options.folder is None:
            spools = list(local_spools())
        elif options.folder.is_dir():
            spools = [Spool(options.folder.absolute())]
        else:
            raise UsageError(f"Folder {options.folder} does not exist.")
        if not spools and not options.quiet:
            print_line("Nothing to send.")
        return max((_send_safely(spool, options) for spool in spools), default=0)


def _send_safely(spool: Spool, options: Options) -> int:
    """Send a spool and return the exit code; errors do not affect other spools."""
    try:
        return _send(spool, options)
    except StoreError as error:
        print_note(str(error))
        return 1


def _send(spool: Spool, options: Options) -> int:
    clock = SystemClock()
    notify = (lambda _text: None) if options.quiet else print_note
    job = spool.facts.job_uri
    if options.lock is not None:
        spool.adopt_lock(options.lock)
    elif not spool.take_lock(clock, _LOCK_SECONDS):
        notify(f"{spool.folder}: another process is sending it to {job}")
        return 0
    # a user wants to see an error immediately; the background process keeps trying
    patience = PATIENCE_SECONDS if options.lock is not None else 0.0
    take_over = SpoolTakeover(spool, open_backend(job), clock)
    if take_over.run(patience):
        notify(f"{job}: all data sent")
        return 0
    notify(f"Cannot send {spool.folder} to {job}: {take_over.trouble}")
    return 1
