"""`sonde set`: changes how a running job is watched."""

import argparse

from sonde.cli._command import Command, Options, add_job, add_json
from sonde.cli._requests import ask
from sonde.errors import UsageError
from sonde.records.request import RequestKind
from sonde.settings import parse_interval


class Set(Command):
    """Change how a running job is watched.

    interval=TIME     between samples, 100ms to 60s
    monitoring=on|off whether the machine is sampled at all
    """

    example = "sonde set resnet interval=100ms"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument("changes", nargs="+", metavar="NAME=VALUE")
        add_json(parser)

    def execute(self, options: Options) -> int:
        changes = {}
        for change in options.changes:
            name, equals, value = change.partition("=")
            if not equals:
                raise UsageError(f"{change!r} is not a change. Write it like interval=100ms.")
            changes[name] = value
            if name == "interval":
                parse_interval(value)
            elif name != "monitoring" or value not in ("on", "off"):
                raise UsageError(f"Cannot set {change}. Known: interval=500ms, monitoring=on|off")
        return ask(options, RequestKind.SET, changes)
