"""`sonde doctor`: what works on this machine, and why not."""

import argparse
import os
from pathlib import Path
from typing import Any

from sonde.agent.self_check import EXTRAS, checkup
from sonde.agent.system import Machine
from sonde.cli._command import Command, Options, add_json, add_store, say_json
from sonde.clock import SystemClock
from sonde.terminal.doctor import doctor_lines
from sonde.terminal.text import print_lines


class Doctor(Command):
    """Say what works on this machine, what does not, and why.

    The exit code is 1 where the store cannot be written, or nothing can be measured.
    """

    example = "sonde doctor --store s3://bucket/team"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_store(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        machine = Machine(job_pid=os.getpid(), paths=(Path.cwd(),))
        found = checkup(options.store, machine, SystemClock())
        if options.json:
            say_json(found)
        else:
            print_lines(doctor_lines(found, EXTRAS))
        return 0 if _is_well(found) else 1


def _is_well(found: dict[str, Any]) -> bool:
    return bool(found["store"]["writable"]) and any(one["works"] for one in found["collectors"])
