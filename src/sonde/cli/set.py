"""`sonde set`: change the sampling of a running job."""

import argparse

from sonde.cli._command import Command, Options, add_job, add_json
from sonde.cli._requests import send_and_print
from sonde.errors import UsageError
from sonde.records.request import RequestKind
from sonde.settings import parse_interval


class Set(Command):
    """Change the sampling of a running job.

    interval=TIME      sampling interval, 100ms to 60s
    monitoring=on|off  turn sampling on or off
    """

    example = "sonde set resnet interval=100ms"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument(
            "changes", nargs="+", metavar="NAME=VALUE", help="the settings to change"
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        changes = {}
        for change in options.changes:
            name, equals, value = change.partition("=")
            if not equals:
                raise UsageError(
                    f"{change!r} is not a setting. Use NAME=VALUE, such as interval=100ms."
                )
            changes[name] = value
            if name == "interval":
                parse_interval(value)
            elif name != "monitoring" or value not in ("on", "off"):
                raise UsageError(f"Cannot set {change}. Use interval=TIME or monitoring=on|off.")
        return send_and_print(options, RequestKind.SET, changes)
