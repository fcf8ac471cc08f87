"""`sonde profile`: looks deeper into a running job, for a few steps."""

import argparse
import getpass

from sonde.cli._command import Command, Options, add_job, add_json
from sonde.cli._requests import ask
from sonde.errors import UsageError
from sonde.records.profile import ProfileKind
from sonde.records.request import RequestKind
from sonde.settings import DEFAULT_WINDOWS, parse_duration, requested_windows

_USUAL = ",".join(window.kind for window in DEFAULT_WINDOWS)


class Profile(Command):
    """Look deeper into a running job, for a few steps or seconds.

    Every worker is asked. Kinds follow each other, from the next step on, so that none of them sees
    another one's work; the steps that they slow down do not count for how long steps take.
    """

    example = "sonde profile resnet --steps 10 --kinds operators,python"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument("--steps", metavar="N", help="how many, of each kind (default: 1)")
        parser.add_argument("--seconds", metavar="S", help="for so long, instead of --steps")
        parser.add_argument(
            "--kinds",
            metavar="KIND,…",
            default=_USUAL,
            help=f"of {', '.join(ProfileKind)} (default: {_USUAL})",
        )
        parser.add_argument(
            "--option",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help="of the profilers that have it, like profiler=stacks or shapes=true; repeatable",
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        if options.steps is not None and options.seconds is not None:
            raise UsageError("--steps and --seconds exclude each other: keep one of them.")
        arguments = {"kinds": options.kinds, "by": f"{getpass.getuser()} (sonde profile)"}
        for option in options.option:
            name, equals, value = option.partition("=")
            if not equals:
                raise UsageError(f"{option!r} is not an option. Write it like profiler=stacks.")
            arguments[name] = value
        if options.seconds is not None:
            text = options.seconds if options.seconds[-1:].isalpha() else f"{options.seconds}s"
            arguments["seconds"] = f"{parse_duration(text, '--seconds'):g}"
        else:
            arguments["steps"] = options.steps or "1"
        requested_windows(arguments, "sonde profile:")
        return ask(options, RequestKind.PROFILE, arguments)
