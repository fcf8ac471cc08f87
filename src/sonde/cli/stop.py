"""`sonde stop`: stop a running job."""

import argparse
import getpass

from sonde.cli._command import Command, Options, add_job, add_json
from sonde.cli._requests import send_and_print
from sonde.records.request import RequestKind
from sonde.settings import parse_duration


class Stop(Command):
    """Stop a running job with SIGTERM, followed by SIGKILL after a grace period.

    Stops the job on all nodes. The job ends in the state `stopped`.
    """

    example = "sonde stop resnet --grace 30s"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument(
            "--grace",
            metavar="TIME",
            default="10s",
            help="time between SIGTERM and SIGKILL (default: 10s)",
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        grace = parse_duration(options.grace, "--grace")
        by = f"{getpass.getuser()} (sonde stop)"
        return send_and_print(options, RequestKind.STOP, {"grace_seconds": f"{grace:g}", "by": by})
