"""`sonde run`: the main job."""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

from sonde.agent.child import become
from sonde.agent.exits import code_of_failed_start
from sonde.agent.launch import Launched, Launcher
from sonde.agent.registration import Registration, Wish, register, withdraw
from sonde.cli._command import Command, Options, remark, store_uri
from sonde.cli.dashboard.process import check_installed, dashboard_beside
from sonde.cli.options.actions import add_actions, with_actions
from sonde.cli.options.recording import add_no_report, with_options
from sonde.cli.options.rules import add_fail_on, add_no_rules, add_rules, exit_code, with_rules
from sonde.clock import SystemClock
from sonde.errors import (
    ActionError,
    JobExistsError,
    MissingExtraError,
    NotFollowedError,
    StoreError,
    UsageError,
)
from sonde.guard import Guard, result_or_reason
from sonde.masking import mask_command
from sonde.records.finding import Verdict
from sonde.records.job import JobState
from sonde.results.overhead import overhead_parts
from sonde.results.verdict import ending, first_line
from sonde.settings import (
    default_store,
    is_disabled,
    load_settings,
    parse_save,
    placement,
    read_profiles,
)
from sonde.store.report_cost import report_cost_since
from sonde.terminal.end_of_run import read_verdict, report_place, seen_at_end, verdict_lines

# Mistakes of the caller, which are told before the command starts.
_MISTAKES = (UsageError, JobExistsError, MissingExtraError, ActionError)

# What a second launcher on the same node still measures: the machine is measured by the first.
_OWN_COLLECTORS = ("process_tree",)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """All that recording takes, before the command starts."""

    registration: Registration
    launcher: Launcher


class Run(Command):
    """Run any command and record what it does to the machine.

    Exit code, signals, input and output of the command pass through untouched. A configuration
    file `sonde.toml` beside the script, or here, is found by itself.
    """

    example = "sonde run --name resnet -- python train.py --epochs 3"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--name", help="the job's name (default: script name and time)")
        parser.add_argument("--store", metavar="URI", type=_store, help="where to record it")
        parser.add_argument("--config", metavar="FILE", type=Path, help="a configuration file")
        parser.add_argument("--interval", metavar="TIME", help="between samples (default: 500ms)")
        parser.add_argument(
            "--save",
            metavar="COLLECTION",
            action="append",
            default=[],
            help="tensors to record, like gradients:every=10,values or "
            "mine:include=conv,every=500,reductions=mean+std; repeatable",
        )
        parser.add_argument(
            "--profile",
            metavar="KIND",
            action="append",
            default=[],
            help="when to look deeper, like operators:start_step=5,num_steps=1 or "
            "python:start_time=30s,duration=5s; repeatable; none: never",
        )
        parser.add_argument(
            "--node", metavar="NAME", help="this machine's name (default: its host)"
        )
        parser.add_argument("--resume", action="store_true", help="continue a job of that name")
        add_rules(parser)
        add_no_rules(parser)
        add_actions(parser)
        add_fail_on(parser)
        add_no_report(parser)
        parser.add_argument(
            "--ui",
            action="store_true",
            help="the dashboard beside it; on a terminal it stays after the job until Ctrl-C",
        )
        parser.add_argument("--quiet", action="store_true", help="print nothing of our own")
        parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND …")

    def execute(self, options: Options) -> int:
        command = options.command[1:] if options.command[:1] == ["--"] else options.command
        if not command:
            raise UsageError("Nothing to run. Write it like: sonde run python train.py")
        if is_disabled():
            return _run_plainly(command)
        wish, reason = result_or_reason(lambda: _wish(options, tuple(command)), _MISTAKES)
        prepared, reason = (None, reason) if wish is None else _prepare(wish, command)
        if wish is None or prepared is None:
            remark(f"{reason}. The command runs, and nothing is recorded.")
            return _run_plainly(command)
        return _run_recorded(prepared, wish, command, options)


def _store(text: str) -> str:
    """A store, also one that turns out later not to be there: the command runs all the same."""
    try:
        return store_uri(text)
    except StoreError:
        return text


def _prepare(wish: Wish, command: list[str]) -> tuple["_Prepared | None", str]:
    """A place in the store and a launcher; None and the reason where that cannot be had."""
    clock = SystemClock()
    registration, reason = result_or_reason(
        lambda: register(wish, mask_command(command), clock), _MISTAKES
    )
    if registration is None:
        return None, reason
    launcher, reason = result_or_reason(lambda: Launcher(registration, wish.settings, clock), ())
    if launcher is None:
        Guard().attempt("the job's place", lambda: withdraw(registration), None)
        return None, reason
    return _Prepared(registration, launcher), ""


def _run_recorded(prepared: "_Prepared", wish: Wish, command: list[str], options: Options) -> int:
    registration, launcher = prepared.registration, prepared.launcher
    tell = (lambda _text: None) if options.quiet else remark
    tell(f"recording {registration.job} (sonde watch {_reference(registration, wish)})")
    is_first_here = wish.placement.local_rank == 0
    store = wish.settings.store if options.ui and is_first_here else None
    guard = Guard()

    def conclude(launched: Launched) -> Verdict | None:
        is_asked = not wish.settings.asked.is_off and launched.outcome.unsent is None
        verdict = read_verdict(registration.backend) if is_asked else None
        for line in _summary(launched, registration, wish, verdict if is_first_here else None):
            tell(line)
        return verdict

    with dashboard_beside(store, tell):
        try:
            launched = launcher.run(command, None if is_first_here else _OWN_COLLECTORS)
        except NotFollowedError as error:
            guard.attempt("the job's place", lambda: withdraw(registration), None)
            remark(f"{error}. The command runs, and nothing is recorded.")
            return _run_plainly(command)
        # from here on nothing may cost the command its exit code
        verdict = guard.call("the summary", lambda: conclude(launched), None)
        if options.quiet and launched.problem:
            remark(launched.problem)
    return launched.code or exit_code(options, verdict.worst if verdict else None)


def _wish(options: Options, command: tuple[str, ...]) -> Wish:
    if options.ui:
        check_installed()
    settings = with_options(load_settings(options.config, command), options)
    settings = with_rules(with_actions(settings, options), options)
    saved = [parse_save(text) for text in options.save]
    hook = settings.hook.overridden_by(saved)
    hook = replace(hook, profile=read_profiles(options.profile, hook.profile))
    settings = replace(settings, hook=hook)
    here = placement()
    if options.node:
        here = replace(here, node=options.node)
    if options.resume and settings.name is None:
        raise UsageError("--resume needs the --name of the job to continue.")
    return Wish(settings, here, options.resume, is_node_given=options.node is not None)


def _run_plainly(command: list[str]) -> int:
    """Becomes the command; nothing of ours is left."""
    try:
        become(command)
    except OSError as error:
        remark(f"{command[0]}: {(error.strerror or str(error)).lower()}")
        return code_of_failed_start(error)


def _reference(registration: Registration, wish: Wish) -> str:
    """How to name the job in the next command: short where the store is the usual one."""
    is_usual = wish.settings.store == default_store()
    return registration.job if is_usual else registration.backend.uri


def _summary(
    launched: Launched, registration: Registration, wish: Wish, verdict: Verdict | None
) -> list[str]:
    exit_, outcome = launched.exit, launched.outcome
    why = "" if exit_.state is JobState.COMPLETED else first_line(exit_.message, exit_.traceback)
    said = ending(registration.job, exit_.state.value, launched.seconds, why)
    overhead = outcome.overhead
    if outcome.is_reported:
        overhead = overhead.plus(report_cost_since(registration.backend, exit_.end_ns))
    lines = [f"{said}; overhead: {overhead_parts(overhead.cpu_seconds, overhead.percent)}"]
    if outcome.unsent is None:  # else the store need not be asked: it does not answer
        attempt = (registration.node, registration.number)
        unseen = seen_at_end(registration.backend, verdict, attempt, outcome.lost)
        lines = [*filter(None, [unseen]), *lines]
    if exit_.left_running:
        lines.append(f"still running: {', '.join(exit_.left_running[:5])}")
    lines += [f"lost: {gap.what}: {gap.reason}" for gap in outcome.lost[:3]]
    if outcome.unsent is not None:
        uri = registration.backend.uri
        lines.append(f"not everything has reached {uri} yet: the rest lies in {outcome.unsent}")
        lines.append(f"it is sent as soon as the store answers, or by: sonde send {outcome.unsent}")
    elif not outcome.is_exit_recorded:
        lines.append("the store did not take it: how it ended is not recorded")
    reference = _reference(registration, wish)
    lines += verdict_lines(verdict, reference)
    if outcome.is_reported:
        lines.append(f"report: {report_place(registration.backend)}")
    elif outcome.no_report is not None:
        lines.append(f"no report: {outcome.no_report}. Write it with: sonde report {reference}")
    return [*lines, f"details: sonde status {reference}"]
