"""What the commands about rules share: options, and how findings are printed."""

import argparse
from collections.abc import Iterator

from sonde.cli._command import Options, say
from sonde.client.findings import Findings, Judgement, where
from sonde.records.finding import Severity

FOUND = 3  # the exit code of findings at or above `--fail-on`


def add_fail_on(parser: argparse.ArgumentParser) -> None:
    """The option for continuous integration."""
    parser.add_argument(
        "--fail-on",
        choices=[one.value for one in Severity],
        help="exit with 3 where something at least so bad is found",
    )


def exit_code(options: Options, findings: Findings) -> int:
    """0, or 3 where `--fail-on` says so."""
    if options.fail_on is None or findings.worst is None:
        return 0
    return FOUND if findings.worst.rank >= Severity(options.fail_on).rank else 0


def print_findings(findings: Findings) -> None:
    """Each with its place and its advice."""
    for line in _lines(findings):
        say(line)


def print_judgement(judgement: Judgement) -> None:
    """The verdict, the findings, and how the rules stand."""
    say(f"{judgement.job}: {judgement.verdict}")
    if len(judgement.findings):
        say("")
        print_findings(judgement.findings)
    say("")
    for line in judgement.standings.splitlines():
        say(line)


def _lines(findings: Findings) -> Iterator[str]:
    rules = {one.id: one.finding.rule for one in findings}
    for one in findings:
        state = "" if one.is_open else ", recovered"
        place = where(one)
        yield f"{one.severity.value}  {one.finding.rule}{f' ({place}{state})' if place else ''}"
        yield f"  {one.finding.message}"
        if one.finding.cause in rules:
            yield f"  Because of {rules[one.finding.cause]}, above."
        if one.finding.advice:
            yield f"  What to do: {one.finding.advice}"
