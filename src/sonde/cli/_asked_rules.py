"""The rules that a configuration file and options ask for."""

from typing import Any

from sonde.cli._command import Options, say, say_json
from sonde.cli._rules import names_in
from sonde.client.frames import aligned
from sonde.rules import Rule
from sonde.rules._selection import parse_assignments, select_rules
from sonde.settings import load_settings


def show_asked(options: Options) -> int:
    """Prints them; what makes no sense is an error."""
    settings = load_settings(options.config).rules
    given = parse_assignments(options.set)
    rules = select_rules(names_in(options.rules), settings, given)
    if options.json:
        say_json({"rules": [_asked_document(one) for one in rules]})
        return 0
    rows = [("rule", "setting", "given")]
    rows += [(one.name(), one.setting.value, _given(one)) for one in rules]
    for line in aligned(rows, 3).splitlines():
        say(line)
    return 0


def _asked_document(rule: Rule) -> dict[str, Any]:
    looked_at = (one.looked_at for one in rule.needed)
    return {
        "rule": rule.name(),
        "setting": rule.setting.value,
        "parameters": dict(rule.parameters),
        "needs": [one.label for one in rule.needed],
        "looks_at": [one for one in looked_at if one is not None],
    }


def _given(rule: Rule) -> str:
    names = sorted(rule.given - {"setting"})
    return ", ".join(f"{name}={getattr(rule, name)}" for name in names)
