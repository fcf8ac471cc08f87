"""Find the configurations in a JSON document and convert each of them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sonde.errors import UsageError
from sonde.settings.smdebug.collections import convert_hook
from sonde.settings.smdebug.profiler import convert_profiler
from sonde.settings.smdebug.rules import ReadRule, convert_rules
from sonde.settings.smdebug.toml import Section, write_sections

_KEYS = {  # of a configuration inside a document, by kind
    "DebugHookConfig": "hook",
    "DebuggerHookConfig": "hook",
    "debugger_hook_config": "hook",
    "ProfilerConfig": "profiler",
    "profiler_config": "profiler",
}
_RULE_LISTS = {
    *("DebugRuleConfigurations", "ProfilerRuleConfigurations", "RuleConfigurations"),
    *("rule_configurations", "rules"),
}
_FIELDS = {  # of a configuration, by kind
    "rule": {"RuleConfigurationName", "RuleName", "RuleParameters", "rule_to_invoke"},
    "hook": {"HookParameters", "CollectionConfigurations", "CollectionConfiguration"},
    "profiler": {"ProfilingIntervalInMilliseconds", "ProfilingParameters", "DisableProfiler"},
}
_UNSUPPORTED = ("TensorBoardOutputConfig",)
_NESTED_RULE = "DebugRuleConfiguration"


def convert_configuration(path: Path, read_rule: ReadRule) -> str:
    """Return the text of a `sonde.toml` with the same settings.

    Args:
        path: A JSON file: a request of CreateTrainingJob, the description of a training job, or
            the configuration of the hook, the profiler or rules alone.
        read_rule: Validates the name and the parameters of a rule.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as JSON: {error}") from error
    sections = [Section("", notes=[f"Converted from {path.name}."])]
    rules: list[Mapping[str, Any]] = []
    for kind, value in _configurations(document):
        if kind == "hook":
            sections += convert_hook(value)
        elif kind == "profiler":
            sections += convert_profiler(value)
        elif kind == "rule":
            rules.append(value)
        else:
            sections.append(Section("", notes=[f"{kind}: no counterpart"]))
    if not rules and len(sections) == 1:
        raise UsageError(
            f"{path} has no configuration of SageMaker Debugger. Expected: DebugHookConfig, "
            "ProfilerConfig, DebugRuleConfigurations, or a file of one of them."
        )
    return write_sections([*sections, *convert_rules(rules, read_rule)])


def _configurations(document: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the kind and the content of each configuration; the key of an unsupported one."""
    if isinstance(document, list):
        yield from (("rule", _rule_of(item)) for item in document if isinstance(item, Mapping))
    elif isinstance(document, Mapping):
        kinds = [kind for kind, fields in _FIELDS.items() if document.keys() & fields]
        yield from ((kind, document) for kind in kinds)
        for key, value in document.items() if "rule" not in kinds else ():
            yield from _nested(key, value)


def _nested(key: str, value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if key in _RULE_LISTS:
        yield from _configurations(list(value.values()) if isinstance(value, Mapping) else value)
    elif key in _UNSUPPORTED:
        yield key, {}
    elif isinstance(value, Mapping):
        kind = _KEYS.get(key) or ("rule" if _NESTED_RULE in value else "")
        if kind:
            yield kind, _rule_of(value)


def _rule_of(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The rule of a document that lists it beside its collections, or the document itself."""
    inner = item.get(_NESTED_RULE, item)
    return inner if isinstance(inner, Mapping) else {}
