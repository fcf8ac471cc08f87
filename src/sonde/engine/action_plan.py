"""Which actions follow what a rule finds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sonde.actions import Action, build_action
from sonde.records.finding import Severity
from sonde.rules import Rule, file_name
from sonde.settings import RunSettings

_STOP = "stop"
_STOPS_BY_ITSELF = "stop_training_on_fire"  # a parameter that some rules have


@dataclass(frozen=True, slots=True)
class ActionPlan:
    """The actions of a job, by rule."""

    by_rule: Mapping[str, tuple[Action, ...]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing follows anything."""
        return not any(self.by_rule.values())

    @property
    def actions(self) -> dict[str, Action]:
        """All of them, by name."""
        return {one.name: one for actions in self.by_rule.values() for one in actions}

    def after(self, rule: str) -> tuple[Action, ...]:
        """What follows a rule's findings."""
        return self.by_rule.get(rule, ())


def plan_actions(settings: RunSettings, rules: Sequence[Rule], folder: Path) -> ActionPlan:
    """What a configuration file and the command line ask for, each action checked and ready.

    Args:
        settings: What is asked for.
        rules: Those that are asked.
        folder: Where relative names of files begin, where no configuration file names them.

    Raises:
        UsageError: An action does not exist, or could never be done.
    """
    built = _Built(settings, folder)
    for one in settings.actions.actions:  # what is wrong is an error, asked for or not
        built.get(one.name)
    told = {file_name(one.rule): one.actions for one in settings.rules.rules}
    general = dict.fromkeys((*settings.rules.actions, *settings.actions.asked))
    plan = {}
    for rule in rules:
        own = told.get(file_name(rule.name()))
        names = general if own is None else dict.fromkeys((*own, *settings.actions.asked))
        plan[rule.name()] = (*built.all(names), *_by_itself(rule, names, built))
    return ActionPlan(plan)


class _Built:
    """Actions, each built when it is first asked for."""

    def __init__(self, settings: RunSettings, folder: Path) -> None:
        self._settings = settings.actions
        self._folder = folder
        self._known: dict[str, Action] = {}

    def get(self, name: str) -> Action:
        if name not in self._known:
            self._known[name] = build_action(self._settings.of(name), self._folder)
        return self._known[name]

    def all(self, names: Iterable[str]) -> list[Action]:
        return [self.get(name) for name in names]


def _by_itself(rule: Rule, names: Iterable[str], built: _Built) -> list[Action]:
    """The stop that a parameter of the rule asks for, however bad its finding is."""
    if rule.parameters.get(_STOPS_BY_ITSELF) is not True or _STOP in names:
        return []
    return [replace(built.get(_STOP), min_severity=Severity.INFO)]
