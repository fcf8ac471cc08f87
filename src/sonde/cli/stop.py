"""`sonde stop`: ends a running job."""

import argparse
import getpass

from sonde.cli._command import Command, Options, add_job, add_json
from sonde.cli._requests import ask
from sonde.records.request import RequestKind
from sonde.settings import parse_duration


class Stop(Command):
    """Stop a running job: SIGTERM, and SIGKILL after a grace.

    Every node of the job is asked; the job ends in the state `stopped`.
    """

    example = "sonde stop resnet --grace 30s"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument("--grace", metavar="TIME", default="10s", help="default: 10s")
        add_json(parser)

    def execute(self, options: Options) -> int:
        grace = parse_duration(options.grace, "--grace")
        by = f"{getpass.getuser()} (sonde stop)"
        return ask(options, RequestKind.STOP, {"grace_seconds": f"{grace:g}", "by": by})
