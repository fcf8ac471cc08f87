"""Select rules and their parameters from names, a file and the command line."""

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
    parameters: Parameters | None = None,
) -> list[Rule]:
    """Create the selected rules with their parameters; all installed rules if none is named.

    Args:
        names: Names in either spelling.
        settings: The section [rules] of a configuration file.
        parameters: Parameters by rule. They take precedence over the file.
    """
    settings = settings or RulesSettings()
    configured = {file_name(rule.rule): rule for rule in settings.rules}
    explicit: Parameters = {file_name(name): values for name, values in (parameters or {}).items()}
    installed = [*rule_names(), *_with_source(configured)]
    requested = list(dict.fromkeys(map(file_name, names))) or installed
    # load configured rules even if they are not requested, to report names that do not exist
    kinds_by_name = {
        name: _kind(name, configured.get(name))
        for name in dict.fromkeys((*requested, *explicit, *configured))
    }
    kinds = {name: kinds_by_name[name] for name in requested}
    for kind in tuple(kinds.values()):
        kinds |= {file_name(covered): load_rule(covered) for covered in kind.covers}
    for name in explicit.keys() - kinds.keys():
        raise UsageError(f"Parameters of {name} are set, but the rule is not selected.")
    from_file = _spread_to_covered(
        kinds_by_name, {name: _parameters_of(rule) for name, rule in configured.items()}
    )
    explicit = _spread_to_covered(kinds_by_name, explicit)
    for_all_rules = {"setting": settings.setting} if settings.setting else {}
    rules: list[Rule] = []
    for name, kind in kinds.items():
        section = configured[name].rule if name in configured else name
        where = f"{settings.where} [rules.{section}] "
        overrides = explicit.get(name, {})
        rules.append(_build(kind, from_file.get(name, {}), where, for_all_rules, overrides))
    return rules


def _build(
    kind: type[Rule],
    from_file: Mapping[str, object],
    where: str,
    for_all_rules: Mapping[str, object],
    explicit: Mapping[str, object],
) -> Rule:
    """Create a rule; explicit parameters precede those from the file and those for all rules."""
    if issubclass(kind, BrokenRule):  # its parameters are unknown
        return kind()
    build_rule(kind, from_file, where)  # validates the file alone, so that an error names it
    return build_rule(kind, {**for_all_rules, **from_file, **explicit})


def parse_assignments(texts: Iterable[str]) -> dict[str, dict[str, object]]:
    """Parse texts like `LossNotDecreasing.num_steps=20` into parameters by rule."""
    result: dict[str, dict[str, object]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        rule, dot, parameter = name.strip().partition(".")
        if not (equals and dot and parameter):
            raise UsageError(
                f"--set {text!r} is not a parameter. Example: --set StepOutlier.stddev=4"
            )
        result.setdefault(rule, {})[parameter] = value.strip()
    return result


def load_source(path: Path, name: str) -> type[Rule]:
    """Load the rule of that name from a user's file."""
    spec = importlib.util.spec_from_file_location(f"sonde_rules_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"{path} is not a Python file, so no rules can be loaded from it.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    errors: list[BaseException] = []
    guard = Guard(lambda _, error: errors.append(error))
    guard.call(f"loading {path}", partial(spec.loader.exec_module, module), None)
    for error in errors:
        kind = type(error).__name__
        raise UsageError(f"Cannot load the rules in {path}: {kind}: {error}") from error
    kinds = {
        file_name(kind.__name__): kind
        for kind in vars(module).values()
        if inspect.isclass(kind) and issubclass(kind, Rule) and kind.__module__ == spec.name
    }
    if name not in kinds:
        available = ", ".join(kind.name() for kind in kinds.values()) or "none"
        raise UsageError(f"{path} has no rule {name}. Rules in this file: {available}")
    return kinds[name]


def _parameters_of(rule_settings: RuleSettings) -> dict[str, object]:
    return {
        **({"setting": rule_settings.setting} if rule_settings.setting else {}),
        **rule_settings.parameters,
    }


def _spread_to_covered(
    kinds: Mapping[str, type[Rule]], values: Parameters
) -> dict[str, dict[str, object]]:
    """Return parameters by rule, moving those for covered rules, `Rule_parameter`, to these."""
    result: dict[str, dict[str, object]] = {}
    direct = {name: dict(parameters) for name, parameters in values.items()}
    for name in values:
        for covered in kinds[name].covers:
            prefix = f"{covered}_".lower()
            target = result.setdefault(file_name(covered), {})
            for key in [key for key in direct[name] if key.lower().startswith(prefix)]:
                target[key[len(prefix) :]] = direct[name].pop(key)
            if "setting" in direct[name]:
                target["setting"] = direct[name]["setting"]
    for name, parameters in direct.items():
        result[name] = {**result.get(name, {}), **parameters}
    return result


def _with_source(configured: Mapping[str, RuleSettings]) -> list[str]:
    return [name for name, item in configured.items() if item.source is not None]


def _kind(name: str, rule_settings: RuleSettings | None) -> type[Rule]:
    if rule_settings is not None and rule_settings.source is not None:
        return load_source(Path(rule_settings.source), name)
    return load_rule(name)
