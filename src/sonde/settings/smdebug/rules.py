"""Convert rule configurations: parameters and actions."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sonde.errors import UsageError
from sonde.settings.smdebug.toml import Section
from sonde.settings.smdebug.values import items_of, literal

# A rule by its name, with parameters as text: its name here, and the parameters with their types.
ReadRule = Callable[[str, Mapping[str, object]], tuple[str, Mapping[str, object]]]

_ACTIONS = {"stoptraining": "stop", "email": "email", "sms": "sms"}
_TAKEN = {"rule_to_invoke", "source_s3_uri", "action_json", "base_trial", "opt_out_telemetry"}
_PREFIX = "training_job_name_prefix"
_SERVICE = ("InstanceType", "VolumeSizeInGB", "RuleEvaluatorImage")
_BOUNDS = ("threshold_tanh", "threshold_sigmoid")
_OTHER_TRIAL = "other_trial_"


def convert_rules(documents: Sequence[Mapping[str, Any]], read_rule: ReadRule) -> list[Section]:
    """Return one table for each rule, and one for each action."""
    rules: dict[str, Section] = {}
    actions: dict[str, Section] = {}
    notes = Section("")
    for document in documents:
        parameters = _parameters(document)
        name = str(parameters.get("rule_to_invoke") or _configured_name(document))
        if parameters.get("source_s3_uri"):
            notes.notes.append(
                f"custom rule {name} in {parameters['source_s3_uri']}: rewrite it as a subclass of "
                f'sonde.Rule, then add [rules.{name}] source = "my_rules.py"'
            )
            continue
        try:
            name, values = read_rule(name, dict(_converted(parameters)))
        except UsageError as error:
            notes.notes.append(f"rule {name}: {error}")
            continue
        section = Section(f"[rules.{name}]", dict(values))
        if parameters.get(_PREFIX):
            section.notes.append(_prefix_note(parameters[_PREFIX]))
        names = _add_actions(parameters.get("action_json"), actions)
        if names:
            section.values["actions"] = names
        if name in rules:
            notes.notes.append(f"a second configuration of {name}: {json.dumps(section.values)}")
        rules.setdefault(name, section)
    notes.notes += [
        f"{key}: no counterpart, rules run next to the job"
        for key in _SERVICE
        if any(document.get(key) for document in documents)
    ]
    if rules:
        notes.notes.append(f"Every rule runs by default. Only these: --rules {','.join(rules)}")
    return [notes, _settings(rules), *rules.values(), *actions.values()]


def _settings(rules: Mapping[str, Section]) -> Section:
    """The way to the criteria of the service."""
    section = Section("")
    if rules:
        section.notes.append(
            'For the criteria and defaults of the service, add: [rules] setting = "classic"'
        )
    without_parameters = [name for name, rule in rules.items() if not rule.values]
    if without_parameters:
        section.notes.append(f"Defaults: {', '.join(without_parameters)}")
    return section


def _configured_name(document: Mapping[str, Any]) -> object:
    return document.get("RuleConfigurationName") or document.get("RuleName") or "(no name)"


def _parameters(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return document.get("RuleParameters") or document.get("RuntimeConfigurations") or {}


def _converted(parameters: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the parameters under the names that rules have here."""
    trials = [value for name, value in parameters.items() if name.startswith(_OTHER_TRIAL)]
    if trials:
        yield "other_trials", trials
    for name, value in parameters.items():
        if name in {*_TAKEN, _PREFIX} or name.startswith(_OTHER_TRIAL):
            continue
        if name in _BOUNDS:
            low, high = items_of(str(value).strip("()[] "))
            yield from ((f"{name}_min", low), (f"{name}_max", high))
        else:
            yield name, value


def _add_actions(text: object, sections: dict[str, Section]) -> list[str]:
    """Add the tables of actions; return their names."""
    if not text:
        return []
    value: Any = literal(text, "action_json") if isinstance(text, str) else text
    names = []
    for action in value if isinstance(value, list) else [value]:
        fields = {str(name).lower(): field for name, field in dict(action).items()}
        kind = _ACTIONS.get(str(fields.get("name", "")).lower().replace("_", ""))
        if kind is None:
            continue
        names.append(kind)
        section = sections.setdefault(kind, Section(f"[actions.{kind}]"))
        if kind == "stop" and fields.get("training_job_prefix"):
            section.notes = [_prefix_note(fields["training_job_prefix"])]
        elif kind != "stop":
            _add_recipient(section, str(fields.get("endpoint", "")), kind)
    return list(dict.fromkeys(names))


def _prefix_note(prefix: object) -> str:
    return (
        f"prefix {prefix}: stop ends only the job itself; for a limit, set [actions.stop] "
        "job_prefix"
    )


def _add_recipient(section: Section, endpoint: str, kind: str) -> None:
    recipients = section.values.setdefault("to", [])
    if isinstance(recipients, list) and endpoint and endpoint not in recipients:
        recipients.append(endpoint)
    if kind == "sms" and not section.notes:
        section.notes.append(
            "set the provider's url, or a gateway: `sonde actions sms` lists the settings"
        )
        section.values["url"] = "https://sms.example/send"
