"""`sonde run`: run a command and record it."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sonde.agent.child import replace_process
from sonde.agent.exits import code_of_failed_start
from sonde.agent.handover import INJECT_FOLDER
from sonde.agent.interpreter import why_hook_fails
from sonde.agent.launch import Launched, Launcher
from sonde.agent.outcome import Outcome
from sonde.agent.placement import placement
from sonde.agent.registration import Registration, RunRequest, register, withdraw
from sonde.agent.terminal import is_awaited
from sonde.cli._command import Command, Options, print_note, store_uri
from sonde.cli.dashboard.process import check_installed, dashboard_process
from sonde.cli.options.actions import add_actions, with_actions
from sonde.cli.options.recording import add_no_report, add_price, with_options
from sonde.cli.options.rules import add_fail_on, add_no_rules, add_rules, exit_code, with_rules
from sonde.clock import SystemClock
from sonde.errors import (
    ActionError,
    JobExistsError,
    MissingExtraError,
    OutOfResourcesError,
    StoreError,
    UsageError,
)
from sonde.guard import Guard, result_or_reason
from sonde.masking import mask_command
from sonde.records.finding import Verdict
from sonde.records.job import JobState
from sonde.results.verdict import ending, first_line
from sonde.settings import (
    default_store,
    is_disabled,
    load_settings,
    parse_save,
    read_profiles,
)
from sonde.store.report_cost import report_cost_since
from sonde.terminal.end_of_run import (
    missing_data_lines,
    not_seen_at_end,
    overhead_at_end,
    read_verdict,
    report_uri,
    verdict_lines,
)

# User errors that prevent the command from starting. After other errors it runs unrecorded.
_USER_ERRORS = (UsageError, JobExistsError, MissingExtraError, ActionError)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What a recording needs before the command starts."""

    registration: Registration
    launcher: Launcher


class Run(Command):
    """Run a command and record it.

    Exit code, signals, input and output of the command pass through unchanged. The configuration
    file `sonde.toml` is read from the script's folder or the current folder.
    """

    example = "sonde run --name resnet -- python train.py --epochs 3"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--name", help="the job's name (default: script name and time)")
        parser.add_argument("--store", metavar="URI", type=_store, help="the store to record to")
        parser.add_argument("--config", metavar="FILE", type=Path, help="configuration file")
        parser.add_argument("--interval", metavar="TIME", help="sampling interval (default: 500ms)")
        parser.add_argument(
            "--save",
            metavar="COLLECTION",
            action="append",
            default=[],
            help="tensors to record, such as gradients:every=10,values or "
            "mine:include=conv,every=500,reductions=mean+std; repeatable",
        )
        parser.add_argument(
            "--profile",
            metavar="KIND",
            action="append",
            default=[],
            help="when to profile, such as operators:start_step=5,num_steps=1 or "
            "python:start_time=30s,duration=5s; `none` disables profiling; repeatable",
        )
        parser.add_argument(
            "--node", metavar="NAME", help="name of this machine (default: its host name)"
        )
        parser.add_argument("--resume", action="store_true", help="continue an existing job")
        add_rules(parser)
        add_no_rules(parser)
        add_actions(parser)
        add_fail_on(parser)
        add_no_report(parser)
        add_price(parser)
        parser.add_argument(
            "--ui",
            action="store_true",
            help="start the dashboard; on a terminal, it stays available until Ctrl-C",
        )
        parser.add_argument("--quiet", action="store_true", help="suppress Sonde's own output")
        parser.add_argument(
            "command", nargs=argparse.REMAINDER, metavar="COMMAND …", help="the command to run"
        )

    def execute(self, options: Options) -> int:
        command = options.command[1:] if options.command[:1] == ["--"] else options.command
        if not command:
            raise UsageError("No command to run. Example: sonde run python train.py")
        if is_disabled():
            return _run_plainly(command)
        request, reason = result_or_reason(lambda: _request(options, tuple(command)), _USER_ERRORS)
        prepared, reason = (None, reason) if request is None else _prepare(request, command)
        if request is None or prepared is None:
            print_note(f"{reason}. The command runs without recording.")
            return _run_plainly(command)
        return _run_recorded(prepared, request, command, options)


def _store(text: str) -> str:
    """Parse a store; errors are reported later, because the command runs anyway."""
    try:
        return store_uri(text)
    except StoreError:
        return text


def _prepare(request: RunRequest, command: list[str]) -> tuple["_Prepared | None", str]:
    """Register the job and create its launcher; None and the reason if that fails."""
    clock = SystemClock()
    registration, reason = result_or_reason(
        lambda: register(request, mask_command(command), clock), _USER_ERRORS
    )
    if registration is None:
        return None, reason
    launcher, reason = result_or_reason(lambda: Launcher(registration, request.settings, clock), ())
    if launcher is None:
        Guard().attempt("job folder", lambda: withdraw(registration), None)
        return None, reason
    return _Prepared(registration, launcher), ""


def _run_recorded(
    prepared: "_Prepared", request: RunRequest, command: list[str], options: Options
) -> int:
    registration, launcher = prepared.registration, prepared.launcher
    notify = (lambda _text: None) if options.quiet else print_note
    is_first_here = request.placement.local_rank == 0
    store = request.settings.store if options.ui and is_first_here else None
    guard = Guard()

    def conclude(launched: Launched) -> Verdict | None:
        is_asked = not request.settings.rule_options.is_off and launched.outcome.unsent is None
        verdict = read_verdict(registration.backend) if is_asked else None
        for line in _summary(launched, registration, request, verdict if is_first_here else None):
            notify(line)
        return verdict

    # a gate needs everything at the end
    launcher.leaves_report = options.fail_on is None and is_awaited()
    with dashboard_process(store, notify):
        try:
            announce = partial(_announce, notify, registration, request)
            launched = launcher.run(command, announce, samples_machine=is_first_here)
        except OutOfResourcesError as error:
            guard.attempt("job folder", lambda: withdraw(registration), None)
            print_note(f"{error}. The command runs without recording.")
            return _run_plainly(command)
        # from here on, no failure may change the exit code of the command
        verdict = guard.call("summary", lambda: conclude(launched), None)
        if options.quiet and launched.problem:
            print_note(launched.problem)
    return launched.code or exit_code(options, verdict.worst if verdict else None)


def _announce(
    notify: Callable[[str], None], registration: Registration, request: RunRequest
) -> None:
    """Print that the command is recorded, and whether its training is not."""
    reference = _reference(registration, request)
    notify(f"Recording {registration.job}. Live view: sonde watch {reference}")
    if damage := why_hook_fails(INJECT_FOLDER):
        notify(f"Training not recorded: {damage}")


def _request(options: Options, command: tuple[str, ...]) -> RunRequest:
    if options.ui:
        check_installed()
    settings = with_options(load_settings(options.config, command), options)
    settings = with_rules(with_actions(settings, options), options)
    saved = [parse_save(text) for text in options.save]
    hook = settings.hook.overridden_by(saved)
    hook = replace(hook, profile=read_profiles(options.profile, hook.profile))
    settings = replace(settings, hook=hook)
    location = placement(command)
    if options.node:
        location = replace(location, node=options.node)
    if options.resume and settings.name is None:
        raise UsageError("--resume requires the --name of the job to continue.")
    return RunRequest(settings, location, options.resume, is_node_given=options.node is not None)


def _run_plainly(command: list[str]) -> int:
    """Replace this process with the command."""
    try:
        replace_process(command)
    except OSError as error:
        print_note(f"{command[0]}: {(error.strerror or str(error)).lower()}")
        return code_of_failed_start(error)


def _reference(registration: Registration, request: RunRequest) -> str:
    """How to refer to the job in a command: by name in the default store, otherwise by URI."""
    is_default = request.settings.store == default_store()
    return registration.job if is_default else registration.backend.uri


def _summary(
    launched: Launched, registration: Registration, request: RunRequest, verdict: Verdict | None
) -> list[str]:
    exit_, outcome = launched.exit, launched.outcome
    why = "" if exit_.state is JobState.COMPLETED else first_line(exit_.message, exit_.traceback)
    result = ending(registration.job, exit_.state.value, launched.seconds, why)
    overhead = outcome.overhead
    if outcome.is_reported:
        overhead = overhead.plus(report_cost_since(registration.backend, exit_.end_ns))
    overhead_text = overhead_at_end(registration.backend, overhead, registration.number)
    lines = [f"{result.rstrip(' .')}. Overhead: {overhead_text}"]
    if outcome.unsent is None:  # otherwise the store does not respond
        attempt = (registration.node, registration.number)
        has_failed = exit_.state is JobState.FAILED
        unseen = not_seen_at_end(
            registration.backend, verdict, attempt, outcome.notices, has_failed=has_failed
        )
        lines = [*filter(None, [unseen]), *lines]
    if exit_.left_running:
        lines.append(f"Still running: {', '.join(exit_.left_running[:5])}")
    lines += missing_data_lines(outcome.notices)
    if outcome.unsent is not None:
        uri = registration.backend.uri
        lines.append(f"Not all data has reached {uri}. The rest is in {outcome.unsent}")
        lines.append(
            f"Sonde sends it when the store responds. To send it now: sonde send {outcome.unsent}"
        )
    elif not outcome.is_exit_recorded:
        lines.append("The store did not respond: the exit of the job is not recorded")
    reference = _reference(registration, request)
    lines += verdict_lines(verdict, reference)
    lines += _report_lines(outcome, registration, reference)
    return [*lines, f"Details: sonde status {reference}"]


def _report_lines(outcome: Outcome, registration: Registration, reference: str) -> list[str]:
    uri = report_uri(registration.backend)
    if outcome.is_reported:
        return [f"Report: {uri}"]
    if outcome.is_reporting:
        return [f"Report: being written to {uri}"]
    if outcome.no_report is not None:
        return [f"No report: {outcome.no_report}. To write it: sonde report {reference}"]
    return []
