"""`sonde doctor`: what Sonde can measure on this machine."""

import argparse
import os
from pathlib import Path
from typing import Any

from sonde.agent.self_check import EXTRAS, run_self_check
from sonde.agent.system import Machine
from sonde.cli._command import Command, Options, add_json, add_store, print_json
from sonde.clock import SystemClock
from sonde.terminal.doctor import doctor_lines
from sonde.terminal.output import print_lines


class Doctor(Command):
    """Check what Sonde can measure on this machine.

    The exit code is 1 if the store is not writable or nothing can be measured.
    """

    example = "sonde doctor --store s3://bucket/team"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_store(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        machine = Machine(job_pid=os.getpid(), paths=(Path.cwd(),))
        report = run_self_check(options.store, machine, SystemClock())
        if options.json:
            print_json(report)
        else:
            print_lines(doctor_lines(report, EXTRAS))
        return 0 if _can_record(report) else 1


def _can_record(report: dict[str, Any]) -> bool:
    return bool(report["store"]["writable"]) and any(
        collector["works"] for collector in report["collectors"]
    )
