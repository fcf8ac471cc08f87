"""`sonde follow`: rules beside a job that runs."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from sonde.cli._acting import add_actions
from sonde.cli._command import Command, Options, add_job
from sonde.cli._judging import judge_of
from sonde.cli._recording import add_no_report
from sonde.cli._refreshing import Refreshing
from sonde.cli._rules import add_rules, names_in
from sonde.clock import Clock, SystemClock, process_cpu_seconds
from sonde.collect.side_process import SideProcess, sonde_command
from sonde.errors import JobExistsError, StoreError
from sonde.guard import Guard
from sonde.read.documents import read_document
from sonde.records.finding import Episode
from sonde.records.job import Attempt
from sonde.rules._selection import parse_assignments, select_rules
from sonde.settings import load_settings, placement
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.lease import Leasing
from sonde.store.places import find_job
from sonde.store.removal import remove_remains
from sonde.watch.action_plan import plan_actions
from sonde.watch.course import MOST_SECONDS_OF_A_WINDOW
from sonde.watch.dispatch import Dispatch
from sonde.watch.garbage import collect_seldom
from sonde.watch.limits import at_most
from sonde.watch.live import Take, Watcher
from sonde.watch.runner import Recorder

_LAST_ACTIONS_SECONDS = 5.0


class Follow(Command):
    """Let rules watch a job while it runs, and keep what they find.

    `sonde run` starts this by itself, at low priority. One watches a job at a time; if it dies,
    another goes on where it was.
    """

    example = "sonde follow resnet --rules LossNotDecreasing,StepOutlier"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        add_rules(parser)
        add_actions(parser)
        add_no_report(parser)
        parser.add_argument(
            "--config", metavar="FILE", type=Path, help="take [rules] and [actions] from this file"
        )
        parser.add_argument(
            "--attempt",
            metavar="NODE/NUMBER",
            help="leave when this attempt at the job is over, though others go on",
        )

    def execute(self, options: Options) -> int:
        settings = load_settings(options.config)
        given = parse_assignments(options.set)
        rules = select_rules(names_in(options.rules), settings.rules, given)
        backend = find_job(options.job, options.store)
        clock = SystemClock()
        own = _Attempt(backend, options.attempt)
        leasing = Leasing(backend, clock, own.node or placement().node)
        actions = settings.actions.with_asked(options.action)
        plan = plan_actions(replace(settings, actions=actions), rules, own.folder)
        dispatch = Dispatch(backend, clock, plan)
        is_reported = settings.report_at_end and not options.no_report
        refreshing = _refreshing(backend, clock)
        takers: list[Take] = [] if plan.is_empty else [dispatch.take]
        takers += [refreshing.take] if is_reported else []
        watcher = Watcher(
            backend,
            clock,
            leasing,
            lambda: Recorder(backend, clock, rules, judge_of(backend, clock), _limit),
            lambda changed: _tell(takers, changed),
        )
        collect_seldom()
        is_ours = watcher.watch(own.is_over, process_cpu_seconds)
        refreshing.close()
        dispatch.close(_LAST_ACTIONS_SECONDS)
        Guard().attempt("files of a removed job", lambda: remove_remains(backend), default=False)
        if not is_ours and options.attempt is None:
            raise JobExistsError(f"{leasing.holder} watches the job already.")
        return 0


_limit = partial(at_most, MOST_SECONDS_OF_A_WINDOW)


def _tell(takers: Sequence[Take], changed: Sequence[Episode]) -> None:
    for take in takers:
        take(changed)


def _refreshing(backend: Backend, clock: Clock) -> Refreshing:
    process = SideProcess(sonde_command("report", backend.uri, "--refresh"), clock)
    return Refreshing(process, backend, clock)


class _Attempt:
    """The attempt that this watcher was started for, if any."""

    def __init__(self, backend: Backend, name: str | None) -> None:
        self._backend = backend
        self._key: str | None = None
        self.folder = Path.cwd()  # of the command
        self.node = ""
        if name is not None:
            node, _, number = name.rpartition("/")
            self.node = node
            self._key = layout.attempt_key(node, int(number), "exit")
            key = layout.attempt_key(node, int(number), "start")
            attempt = read_document(Attempt, backend, key, [])
            self.folder = Path(attempt.folder) if attempt else self.folder

    def is_over(self) -> bool:
        """Whether it has ended."""
        if self._key is None:
            return False
        try:
            return self._backend.exists(self._key)
        except StoreError:
            return False
