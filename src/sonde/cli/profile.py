"""`sonde profile`: profile a running job for a few steps."""

import argparse
import getpass

from sonde.cli._command import Command, Options, add_job, add_json
from sonde.cli._requests import send_and_print
from sonde.errors import UsageError
from sonde.records.profile import ProfileKind
from sonde.records.request import RequestKind
from sonde.settings import DEFAULT_WINDOWS, parse_duration, requested_windows

_DEFAULT_KINDS = ",".join(window.kind for window in DEFAULT_WINDOWS)


class Profile(Command):
    """Profile a running job for a few steps or seconds.

    All workers are profiled, starting with the next step. Profilers run one after the other, so
    that they do not distort each other. Profiled steps are excluded from step time statistics.
    """

    example = "sonde profile resnet --steps 10 --kinds operators,python"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument(
            "--steps", metavar="N", help="number of steps per profiler (default: 1)"
        )
        parser.add_argument(
            "--seconds", metavar="S", help="duration per profiler, instead of --steps"
        )
        parser.add_argument(
            "--kinds",
            metavar="KIND,…",
            default=_DEFAULT_KINDS,
            help=f"profilers to run: {', '.join(ProfileKind)} (default: {_DEFAULT_KINDS})",
        )
        parser.add_argument(
            "--option",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help="profiler option, such as profiler=stacks or shapes=true; repeatable",
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        if options.steps is not None and options.seconds is not None:
            raise UsageError("--steps and --seconds cannot be combined.")
        arguments = {"kinds": options.kinds, "by": f"{getpass.getuser()} (sonde profile)"}
        for option in options.option:
            name, equals, value = option.partition("=")
            if not equals:
                raise UsageError(
                    f"{option!r} is not an option. Use NAME=VALUE, such as profiler=stacks."
                )
            arguments[name] = value
        if options.seconds is not None:
            text = options.seconds if options.seconds[-1:].isalpha() else f"{options.seconds}s"
            arguments["seconds"] = f"{parse_duration(text, '--seconds'):g}"
        else:
            arguments["steps"] = options.steps or "1"
        requested_windows(arguments, "profile:")
        return send_and_print(options, RequestKind.PROFILE, arguments)
