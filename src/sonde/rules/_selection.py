"""Which rules are asked, and with what parameters: from names, a file and the command line."""

import importlib.util
import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from sonde.errors import UsageError
from sonde.guard import Guard
from sonde.rules import Rule, file_name, load_rule, rule_names
from sonde.rules._broken import BrokenRule
from sonde.rules._parameters import build_rule
from sonde.settings import RuleSettings, RulesSettings

Parameters = Mapping[str, Mapping[str, object]]


def select_rules(
    names: Sequence[str] = (),
    settings: RulesSettings | None = None,
    given: Parameters | None = None,
) -> list[Rule]:
    """The rules that are asked for, or all that are installed.

    Args:
        names: Names in either spelling.
        settings: What a configuration file says.
        given: Parameters by rule, which go on top.
    """
    chosen = settings or RulesSettings()
    told = {file_name(one.rule): one for one in chosen.rules}
    on_top = {file_name(name): values for name, values in (given or {}).items()}
    wanted = list(dict.fromkeys(map(file_name, names))) or [*rule_names(), *_own(told)]
    # a name that does not exist is an error, asked for or not
    known = {name: _kind(name, told.get(name)) for name in dict.fromkeys((*wanted, *on_top, *told))}
    kinds = {name: known[name] for name in wanted}
    for kind in tuple(kinds.values()):
        kinds |= {file_name(one): load_rule(one) for one in kind.covers}
    for name in on_top.keys() - kinds.keys():
        raise UsageError(f"Parameters of {name} are set, but the rule is not asked for.")
    in_file = _spread(known, {name: _told(one) for name, one in told.items()})
    by_hand = _spread(known, on_top)
    everywhere = {"setting": chosen.setting} if chosen.setting else {}
    rules: list[Rule] = []
    for name, kind in kinds.items():
        if issubclass(kind, BrokenRule):  # its parameters are not known
            rules.append(kind())
            continue
        own = in_file.get(name, {})
        # the file's values first, so that an error names the file
        build_rule(
            kind, own, f"{chosen.where} [rules.{told[name].rule if name in told else name}] "
        )
        rules.append(build_rule(kind, {**everywhere, **own, **by_hand.get(name, {})}))
    return rules


def parse_assignments(texts: Iterable[str]) -> dict[str, dict[str, object]]:
    """Parameters from texts like `LossNotDecreasing.num_steps=20`, by rule."""
    found: dict[str, dict[str, object]] = {}
    for text in texts:
        name, is_assigned, value = text.partition("=")
        rule, is_of, parameter = name.strip().partition(".")
        if not (is_assigned and is_of and parameter):
            raise UsageError(f"--set {text!r} is no parameter. Write it like StepOutlier.stddev=4")
        found.setdefault(rule, {})[parameter] = value.strip()
    return found


def load_source(path: Path, name: str) -> type[Rule]:
    """The rule of that name in a person's own file."""
    spec = importlib.util.spec_from_file_location(f"sonde_rules_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"There are no rules in {path}: it is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    errors: list[BaseException] = []
    guard = Guard(lambda _, error: errors.append(error))
    guard.call(f"loading {path}", partial(spec.loader.exec_module, module), None)
    for error in errors:
        kind = type(error).__name__
        raise UsageError(f"The rules in {path} cannot be loaded: {kind}: {error}") from error
    kinds = {
        file_name(kind.__name__): kind
        for kind in vars(module).values()
        if inspect.isclass(kind) and issubclass(kind, Rule) and kind.__module__ == spec.name
    }
    if name not in kinds:
        known = ", ".join(kind.name() for kind in kinds.values()) or "none"
        raise UsageError(f"{path} has no rule {name}. Rules in it: {known}")
    return kinds[name]


def _told(one: RuleSettings) -> dict[str, object]:
    return {**({"setting": one.setting} if one.setting else {}), **one.parameters}


def _spread(known: Mapping[str, type[Rule]], given: Parameters) -> dict[str, dict[str, object]]:
    """Parameters by rule, with those that are given through a rule that covers others."""
    found: dict[str, dict[str, object]] = {}
    direct = {name: dict(parameters) for name, parameters in given.items()}
    for name in given:
        for covered in known[name].covers:
            mark = f"{covered}_"
            own = found.setdefault(file_name(covered), {})
            for key in [one for one in direct[name] if one.startswith(mark)]:
                own[key.removeprefix(mark)] = direct[name].pop(key)
            if "setting" in direct[name]:
                own["setting"] = direct[name]["setting"]
    for name, parameters in direct.items():
        found[name] = {**found.get(name, {}), **parameters}
    return found


def _own(told: Mapping[str, RuleSettings]) -> list[str]:
    return [name for name, one in told.items() if one.source is not None]


def _kind(name: str, told: RuleSettings | None) -> type[Rule]:
    if told is not None and told.source is not None:
        return load_source(Path(told.source), name)
    return load_rule(name)
