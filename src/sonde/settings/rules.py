"""What a configuration file says about rules; what a rule's own keys may be, the rule knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sonde.errors import UsageError
from sonde.records.finding import Setting
from sonde.settings.checks import Key, flag, listed, one_of, text

_SETTING = one_of(one.value for one in Setting)

RULES_SECTION = "rules"
RULES_KEYS = (
    Key(
        *("rules", "setting", "setting", _SETTING, '"calibrated"'),
        "how rules ask: `calibrated`, or `classic`: the documented criterion to the letter; "
        "also per rule",
    ),
    Key(
        *("rules", "live", "live", flag, "true"),
        "false: nobody watches the job; what rules need is recorded all the same, and "
        "`sonde check` asks them later",
    ),
    Key(
        *("rules", "actions", "actions", listed(text), ""),
        "what happens when any rule finds something, unless the rule has its own list",
    ),
    Key(
        *("rules.NAME", "source", "source", text, ""),
        "the Python file that holds this rule, beside the configuration file",
    ),
    Key(
        *("rules.NAME", "actions", "actions", listed(text), ""),
        "what happens when the rule finds something",
    ),
    Key(
        *("rules.NAME", "…", "parameters", text, ""),
        "any parameter of the rule: `sonde rules NAME`",
    ),
)


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """What is said about one rule."""

    rule: str
    setting: str | None = None
    source: str | None = None
    actions: tuple[str, ...] | None = None  # None: those of all rules
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RulesSettings:
    """What is said about all rules."""

    setting: str | None = None
    actions: tuple[str, ...] = ()  # of rules that say nothing else
    rules: tuple[RuleSettings, ...] = ()
    where: str = ""  # the file
    live: bool = True  # False: they are asked later


@dataclass(frozen=True, slots=True)
class AskedRules:
    """What the command line says about rules, as it was written."""

    names: tuple[str, ...] = ()  # only these; all of them where it is empty
    given: tuple[str, ...] = ()  # parameters, like StepOutlier.stddev=4
    is_off: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The same as options."""
        names = ("--rules", ",".join(self.names)) if self.names else ()
        return (*names, *(word for one in self.given for word in ("--set", one)))


def read_rules(table: Mapping[str, object], path: Path) -> RulesSettings:
    """The section [rules] with its tables."""
    setting = None
    actions: tuple[str, ...] = ()
    live = True
    rules = []
    for name, value in table.items():
        if isinstance(value, dict):
            rules.append(_rule(name, value, path))
        elif name == "setting":
            setting = _SETTING(value, f"{path}: [rules] setting")
        elif name == "live":
            live = flag(value, f"{path}: [rules] live")
        elif name == "actions":
            actions = listed(text)(value, f"{path}: [rules] actions")
        else:
            raise UsageError(
                f"{path}: [rules] unknown key {name} = {value!r}. "
                f"Known: actions, live, setting; parameters of a rule belong into [rules.NAME]."
            )
    return RulesSettings(setting, actions, tuple(rules), f"{path}:", live)


def _rule(name: str, table: Mapping[str, object], path: Path) -> RuleSettings:
    where = f"{path}: [rules.{name}]"
    rest = dict(table)
    setting, source = rest.pop("setting", None), rest.pop("source", None)
    actions = rest.pop("actions", None)
    return RuleSettings(
        rule=name,
        setting=None if setting is None else _SETTING(setting, f"{where} setting"),
        source=None if source is None else str(path.parent / text(source, f"{where} source")),
        actions=None if actions is None else listed(text)(actions, f"{where} actions"),
        parameters=rest,
    )
