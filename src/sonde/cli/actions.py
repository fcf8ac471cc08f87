"""`sonde actions`: list, show and test the actions that findings trigger."""

import argparse
from pathlib import Path
from textwrap import wrap
from typing import Any

from sonde.actions import ACTIONS, Action, Occasion, build_action, load_action
from sonde.cli._command import Command, Options, add_json, print_json, print_line
from sonde.clock import SystemClock
from sonde.errors import ActionError, UsageError
from sonde.records.finding import Episode, Finding, Severity
from sonde.results.tables import aligned
from sonde.settings import ActionsSettings, load_settings
from sonde.store.backends import open_backend

_TEST = "test"
_WIDTH = 100


class ActionsCommand(Command):
    """List the available actions, show the settings of an action, or test one.

    `sonde actions test NAME` runs the action with a test finding. An action on a job, such as
    stopping it, is only described.
    """

    example = "sonde actions test email"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "words",
            metavar="[test] NAME",
            nargs="*",
            help="an action to show; after `test`, an action to run",
        )
        parser.add_argument(
            "--config",
            metavar="FILE",
            type=Path,
            help="configuration file (default: sonde.toml in this folder, if it exists)",
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        settings = load_settings(options.config).actions
        match options.words:
            case []:
                _list(settings, is_json=options.json)
            case [word, name] if word == _TEST:
                _test(settings, name, is_json=options.json)
            case [name] if name != _TEST:
                _show(load_action(settings.of(name).kind), is_json=options.json)
            case _:
                raise UsageError(
                    "Usage: sonde actions, sonde actions email, or sonde actions test email"
                )
        return 0


def _list(settings: ActionsSettings, *, is_json: bool) -> None:
    kinds = {name: load_action(name) for name in ACTIONS.names()}
    configured = [(action.name, action.kind) for action in settings.actions]
    for name, kind in configured:
        load_action(kind, f"[actions.{name}]")
    if is_json:
        print_json(
            {
                "actions": [_document(name, kind) for name, kind in kinds.items()],
                "configured": [{"name": name, "kind": kind} for name, kind in configured],
            }
        )
        return
    rows = [(name, kind.summary()) for name, kind in kinds.items()]
    for line in aligned(rows, 2).splitlines():
        print_line(line)
    if configured:
        labels = (name if name == kind else f"{name} ({kind})" for name, kind in configured)
        print_line("")
        print_line(f"Configured here: {', '.join(labels)}")


def _document(name: str, kind: type[Action]) -> dict[str, Any]:
    return {
        "action": name,
        "summary": kind.summary(),
        "settings": [
            {"name": key.name, "default": key.default, "meaning": key.help}
            for key in kind.all_keys()
        ],
    }


def _show(kind: type[Action], *, is_json: bool) -> None:
    name = kind.__module__.rpartition(".")[2]
    if is_json:
        print_json(_document(name, kind))
        return
    for line in (*wrap(f"{name}: {kind.summary()}", _WIDTH), ""):
        print_line(line)
    for key in kind.all_keys():
        default = f" (default: {key.default})" if key.default else ""
        for line in wrap(f"{key.name}: {key.help}{default}", _WIDTH, subsequent_indent="    "):
            print_line(line)


def _test(settings: ActionsSettings, name: str, *, is_json: bool) -> None:
    action = build_action(settings.of(name), Path.cwd())
    try:
        message = action.trial(_test_occasion())
    except ActionError as error:
        raise ActionError(f"{name}: {error}") from error
    if is_json:
        print_json({"action": name, "done": message})
    else:
        print_line(f"{name}: {message}")


def _test_occasion() -> Occasion:
    clock = SystemClock()
    now_ns = clock.now_ns()
    finding = Finding(
        rule="Trial",
        severity=Severity.INFO,
        message="This is a test. Nothing is wrong.",
        advice="Nothing: this finding was sent by `sonde actions test`.",
        time_ns=(now_ns, now_ns),
    )
    episode = Episode("Trial::1", finding, now_ns, now_ns, triggered=1)
    return Occasion("no-job", episode, open_backend("memory://trial"), clock, is_trial=True)
