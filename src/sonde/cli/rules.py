"""`sonde rules`: list, show and create rules."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any

from sonde.cli._command import Command, Options, add_json, print_json, print_line
from sonde.cli._rule_template import write_template
from sonde.cli.options.rules import add_rules, names_in
from sonde.errors import UsageError
from sonde.records.need import Metric
from sonde.results.tables import aligned
from sonde.rules import Rule, file_name, load_rule, rule_names
from sonde.rules._parameters import describe_parameters
from sonde.rules._selection import parse_assignments, select_rules
from sonde.settings import load_settings
from sonde.settings.smdebug import convert_configuration

_WIDTH = 100
_NEW = "new"


class RulesCommand(Command):
    """List the rules, or show how a rule decides, its parameters and its advice.

    `sonde rules new NAME` creates a template for a custom rule and its test. With --rules, --set
    or --config, lists the selected rules and validates their parameters. With --from, prints the
    configuration of SageMaker Debugger as a sonde.toml.
    """

    example = "sonde rules LossNotDecreasing"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "name", metavar="NAME", nargs="?", help="a rule, in CamelCase or snake_case; or `new`"
        )
        parser.add_argument(
            "new_name", metavar="NEW", nargs="?", help="after `new`: the name of the custom rule"
        )
        add_rules(parser)
        parser.add_argument(
            "--config", metavar="FILE", type=Path, help="configuration file with a [rules] section"
        )
        parser.add_argument(
            "--from",
            metavar="FILE",
            type=Path,
            dest="source",
            help="JSON file: a CreateTrainingJob request, or a hook, profiler or rule "
            "configuration",
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        if options.source is not None:
            return _convert(options.source)
        if options.name is None and (options.rules or options.set or options.config):
            return _show_selected(options)
        if options.name == _NEW:
            return _write(options.new_name)
        if options.new_name is not None:
            raise UsageError(f"Specify one rule: {options.name} or {options.new_name}.")
        names = rule_names() if options.name is None else (options.name,)
        kinds = sorted((load_rule(name) for name in names), key=lambda kind: kind.name())
        if options.json:
            documents = [rule_document(kind) for kind in kinds]
            print_json({"rules": documents} if options.name is None else documents[0])
        elif options.name is None:
            table = aligned(
                [(rule_kind.name(), rule_kind.pages().question) for rule_kind in kinds], 2
            )
            for line in table.splitlines():
                print_line(line)
        else:
            _print_page(kinds[0])
        return 0


def _convert(source: Path) -> int:
    for line in convert_configuration(source, _read_rule).splitlines():
        print_line(line)
    return 0


def _read_rule(name: str, parameters: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """Validate a rule; return its name and the parameters that TOML can express."""
    rule, *covered = select_rules([name], parameters={name: parameters} if parameters else None)
    values = dict(rule.parameters)
    for other in covered:
        values |= {f"{other.name()}_{key}": value for key, value in other.parameters.items()}
    names = {key.lower(): key for key in values}
    requested = [names[key.lower()] for key in parameters]
    return rule.name(), {key: values[key] for key in requested if values[key] is not None}


def _write(name: str | None) -> int:
    if name is None:
        raise UsageError("Specify a name for the new rule: sonde rules new GradientTooLarge")
    rule, test = write_template(name, Path())
    print_line(f"Created {rule} and {test}. Run the test: python -m pytest {test}")
    print_line("To enable it, add to sonde.toml:")
    for line in ("", f"[rules.{rule.stem}]", f'source = "{rule}"'):
        print_line(line)
    return 0


def rule_document(kind: type[Rule]) -> dict[str, Any]:
    """The documentation of a rule as plain JSON values."""
    pages = kind.pages()
    return {
        "rule": kind.name(),
        "file": file_name(kind.name()),
        "section": kind.section.value,
        "question": pages.question,
        "why": pages.why,
        "decides": pages.decides,
        "advice": pages.advice,
        "needs": [need.label for need in kind.needs],
        "metrics": [need.name for need in kind.needs if isinstance(need, Metric)],
        "parameters": [
            {
                "name": parameter.name,
                "allowed": parameter.allowed,
                "default": parameter.default,
                "classic": parameter.classic,
            }
            for parameter in describe_parameters(kind)
        ],
    }


def _print_page(kind: type[Rule]) -> None:
    pages = kind.pages()
    sections = (
        (kind.name(), pages.question),
        ("Why it matters", pages.why),
        ("How it decides", pages.conditions),
        ("What to do", pages.advice),
        ("Needs", ", ".join(need.label for need in kind.needs)),
    )
    for title, text in sections:
        if text:
            for line in (*_paragraph(title, text), ""):
                print_line(line)
    rows = [("parameter", "default", "allowed")]
    rows += [(page.name, page.defaults, page.allowed) for page in describe_parameters(kind)]
    for line in aligned(rows, 3).splitlines():
        print_line(line)


def _paragraph(title: str, text: str | tuple[str, ...]) -> list[str]:
    """A titled text, or a titled list."""
    if isinstance(text, str):
        return wrap(f"{title}: {text}", _WIDTH)
    items = (wrap(item, _WIDTH, initial_indent="- ", subsequent_indent="  ") for item in text)
    return [f"{title}:", *(line for item in items for line in item)]


def _show_selected(options: Options) -> int:
    """Print the rules that a configuration file and options select."""
    settings = load_settings(options.config).rules
    parameters = parse_assignments(options.set)
    rules = select_rules(names_in(options.rules), settings, parameters)
    if options.json:
        print_json({"rules": [_selected_document(rule) for rule in rules]})
        return 0
    rows = [("rule", "setting", "parameters set")]
    rows += [(rule.name(), rule.setting.value, _parameters_set(rule)) for rule in rules]
    for line in aligned(rows, 3).splitlines():
        print_line(line)
    return 0


def _selected_document(rule: Rule) -> dict[str, Any]:
    inspection_target = (need.inspection_target for need in rule.needed)
    return {
        "rule": rule.name(),
        "setting": rule.setting.value,
        "parameters": dict(rule.parameters),
        "needs": [need.label for need in rule.needed],
        "looks_at": [name for name in inspection_target if name is not None],
        "stops_before_damage": rule.stops_before_damage,
    }


def _parameters_set(rule: Rule) -> str:
    names = sorted(rule.explicit_parameters - {"setting"})
    return ", ".join(f"{name}={getattr(rule, name)}" for name in names)
