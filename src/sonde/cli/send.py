"""`sonde send`: brings to an object store what lies on this machine."""

import argparse
from pathlib import Path

from sonde.agent.spool_takeover import PATIENCE_SECONDS, TakeOver
from sonde.cli._command import Command, Options, remark, say
from sonde.clock import SystemClock
from sonde.errors import StoreError, UsageError
from sonde.store.backends import open_backend
from sonde.store.spool import Spool, local_spools

_LOCK_SECONDS = 2.0


class Send(Command):
    """Send what jobs have recorded on this machine to the object store they belong to.

    A job with a store in s3:// writes into a folder of its machine first. If its launcher is
    killed, or the store does not answer at the end, another process sends the rest by itself. This
    command does the same, if that process is gone too: without a folder, for all jobs of this user
    on this machine.
    """

    example = "sonde send"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", nargs="?", type=Path, help="the folder to send")
        parser.add_argument("--quiet", action="store_true", help="print nothing")
        parser.add_argument("--lock", type=int, help=argparse.SUPPRESS)

    def execute(self, options: Options) -> int:
        if options.folder is None:
            spools = list(local_spools())
        elif options.folder.is_dir():
            spools = [Spool(options.folder.absolute())]
        else:
            raise UsageError(f"There is no folder {options.folder}")
        if not spools and not options.quiet:
            say("Everything has been sent.")
        return max((_send_safely(spool, options) for spool in spools), default=0)


def _send_safely(spool: Spool, options: Options) -> int:
    """The exit code for one spool; whatever is wrong with it, the others are sent."""
    try:
        return _send(spool, options)
    except StoreError as error:
        remark(str(error))
        return 1


def _send(spool: Spool, options: Options) -> int:
    clock = SystemClock()
    tell = (lambda _text: None) if options.quiet else remark
    job = spool.facts.job_uri
    if options.lock is not None:
        spool.adopt_lock(options.lock)
    elif not spool.take_lock(clock, _LOCK_SECONDS):
        tell(f"{spool.folder}: another process sends it to {job}")
        return 0
    # a person who waits wants to know at once why it does not work
    patience = PATIENCE_SECONDS if options.lock is not None else 0.0
    take_over = TakeOver(spool, open_backend(job), clock)
    if take_over.run(patience):
        tell(f"{job}: everything has been sent")
        return 0
    tell(f"{spool.folder} has not reached {job}: {take_over.trouble}")
    return 1
