"""`sonde actions`: what can follow a finding, and whether it works."""

import argparse
from pathlib import Path
from textwrap import wrap
from typing import Any

from sonde.actions import ACTIONS, Action, Occasion, build_action, load_action
from sonde.cli._command import Command, Options, add_json, say, say_json
from sonde.clock import SystemClock
from sonde.errors import ActionError, UsageError
from sonde.records.finding import Episode, Finding, Severity
from sonde.results.tables import aligned
from sonde.settings import ActionsSettings, load_settings
from sonde.store.backends import open_backend

_TEST = "test"
_WIDTH = 100


class ActionsCommand(Command):
    """List the actions, show the settings of one, or try one that is set up.

    `sonde actions test NAME` does what NAME would do on a finding, with a finding that says that it
    is a trial; what would be done to a job is only told.
    """

    example = "sonde actions test email"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "words",
            metavar="[test] NAME",
            nargs="*",
            help="an action, to see its settings; after `test`, one to try",
        )
        parser.add_argument(
            "--config",
            metavar="FILE",
            type=Path,
            help="the configuration file (default: sonde.toml, if there is one here)",
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        settings = load_settings(options.config).actions
        match options.words:
            case []:
                _list(settings, is_json=options.json)
            case [word, name] if word == _TEST:
                _try(settings, name, is_json=options.json)
            case [name] if name != _TEST:
                _show(load_action(settings.of(name).kind), is_json=options.json)
            case _:
                raise UsageError(
                    "Write it like: sonde actions, sonde actions email, or sonde actions test email"
                )
        return 0


def _list(settings: ActionsSettings, *, is_json: bool) -> None:
    kinds = {name: load_action(name) for name in ACTIONS.names()}
    own = [(one.name, one.kind) for one in settings.actions]
    for name, kind in own:
        load_action(kind, f"[actions.{name}]")
    if is_json:
        say_json(
            {
                "actions": [_document(name, kind) for name, kind in kinds.items()],
                "configured": [{"name": name, "kind": kind} for name, kind in own],
            }
        )
        return
    rows = [(name, kind.summary()) for name, kind in kinds.items()]
    for line in aligned(rows, 2).splitlines():
        say(line)
    if own:
        told = (name if name == kind else f"{name} ({kind})" for name, kind in own)
        say("")
        say(f"Set up here: {', '.join(told)}")


def _document(name: str, kind: type[Action]) -> dict[str, Any]:
    return {
        "action": name,
        "summary": kind.summary(),
        "settings": [
            {"name": one.name, "default": one.default, "meaning": one.help}
            for one in kind.all_keys()
        ],
    }


def _show(kind: type[Action], *, is_json: bool) -> None:
    name = kind.__module__.rpartition(".")[2]
    if is_json:
        say_json(_document(name, kind))
        return
    for line in (*wrap(f"{name}: {kind.summary()}", _WIDTH), ""):
        say(line)
    for one in kind.all_keys():
        default = f" (default: {one.default})" if one.default else ""
        for line in wrap(f"{one.name}: {one.help}{default}", _WIDTH, subsequent_indent="    "):
            say(line)


def _try(settings: ActionsSettings, name: str, *, is_json: bool) -> None:
    action = build_action(settings.of(name), Path.cwd())
    try:
        said = action.trial(_trial())
    except ActionError as error:
        raise ActionError(f"{name}: {error}") from error
    if is_json:
        say_json({"action": name, "done": said})
    else:
        say(f"{name}: {said}")


def _trial() -> Occasion:
    clock = SystemClock()
    now_ns = clock.now_ns()
    finding = Finding(
        rule="Trial",
        severity=Severity.INFO,
        message="This is a trial: nothing is wrong.",
        advice="Nothing. Somebody has typed `sonde actions test`.",
        time_ns=(now_ns, now_ns),
    )
    episode = Episode("Trial::1", finding, now_ns, now_ns, triggered=1)
    return Occasion("no-job", episode, open_backend("memory://trial"), clock, is_trial=True)
