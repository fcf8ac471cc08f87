"""Which actions follow the findings of which rules."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sonde.actions import Action, build_action
from sonde.actions.stop import Stop
from sonde.records.finding import Severity
from sonde.rules import Rule, file_name
from sonde.settings import RunSettings

_STOP = "stop"
_STOP_PARAMETER = "stop_training_on_fire"  # parameters that some rules have
_PREFIX_PARAMETER = "training_job_name_prefix"


@dataclass(frozen=True, slots=True)
class ActionPlan:
    """The actions of a job, by rule."""

    by_rule: Mapping[str, tuple[Action, ...]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether no rule has an action."""
        return not any(self.by_rule.values())

    @property
    def actions(self) -> dict[str, Action]:
        """All actions, by name."""
        return {action.name: action for actions in self.by_rule.values() for action in actions}

    def after(self, rule: str) -> tuple[Action, ...]:
        """The actions that follow a rule's findings."""
        return self.by_rule.get(rule, ())


def plan_actions(settings: RunSettings, rules: Sequence[Rule], folder: Path) -> ActionPlan:
    """Build the actions that the configuration file and the command line request.

    Args:
        settings: The settings of the job.
        rules: The active rules.
        folder: The base of relative file names, unless a configuration file sets it.

    Raises:
        UsageError: An action does not exist or can never succeed.
    """
    builder = _ActionBuilder(settings, folder)
    for action in settings.actions.actions:  # report invalid settings even of unused actions
        builder.get(action.name)
    by_rule = {file_name(each.rule): each.actions for each in settings.rules.rules}
    default_actions = dict.fromkeys((*settings.rules.actions, *settings.actions.requested))
    plan = {}
    for rule in rules:
        requested = by_rule.get(file_name(rule.name()))
        names = (
            default_actions
            if requested is None
            else dict.fromkeys((*requested, *settings.actions.requested))
        )
        plan[rule.name()] = (*builder.all(names), *_implicit_stop(rule, names, builder))
    return ActionPlan(plan)


class _ActionBuilder:
    """Builds each action when it is first used."""

    def __init__(self, settings: RunSettings, folder: Path) -> None:
        self._settings = settings.actions
        self._folder = folder
        self._actions: dict[str, Action] = {}

    def get(self, name: str) -> Action:
        if name not in self._actions:
            self._actions[name] = build_action(self._settings.of(name), self._folder)
        return self._actions[name]

    def all(self, names: Iterable[str]) -> list[Action]:
        return [self.get(name) for name in names]


def _implicit_stop(rule: Rule, names: Iterable[str], builder: _ActionBuilder) -> list[Action]:
    """The stop that a parameter of the rule requests, regardless of the severity."""
    if rule.parameters.get(_STOP_PARAMETER) is not True or _STOP in names:
        return []
    stop = replace(builder.get(_STOP), min_severity=Severity.INFO)
    prefix = str(rule.parameters.get(_PREFIX_PARAMETER) or "")
    return [replace(stop, job_prefix=prefix) if prefix and isinstance(stop, Stop) else stop]
