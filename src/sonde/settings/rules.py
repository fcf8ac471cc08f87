"""The [rules] section of a configuration file; each rule validates its own parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sonde.errors import UsageError
from sonde.records.finding import Setting
from sonde.settings.checks import Key, flag, listed, one_of, text

_SETTING = one_of(setting.value for setting in Setting)

RULES_SECTION = "rules"
RULES_KEYS = (
    Key(
        *("rules", "setting", "setting", _SETTING, '"calibrated"'),
        "thresholds: `calibrated`, or `classic` for the criteria as originally documented; also "
        "per rule",
    ),
    Key(
        *("rules", "live", "live", flag, "true"),
        "false: do not run rules during the job. The data they need is still recorded for "
        "`sonde check`",
    ),
    Key(
        *("rules", "actions", "actions", listed(text), ""),
        "actions for findings of all rules, unless a rule has its own list",
    ),
    Key(
        *("rules.NAME", "source", "source", text, ""),
        "Python file that defines the rule, relative to the configuration file",
    ),
    Key(
        *("rules.NAME", "actions", "actions", listed(text), ""),
        "actions for findings of this rule",
    ),
    Key(
        *("rules.NAME", "…", "parameters", text, ""),
        "a parameter of the rule; `sonde rules NAME` lists them",
    ),
)


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """The settings of one rule."""

    rule: str
    setting: str | None = None
    source: str | None = None
    actions: tuple[str, ...] | None = None  # None: the same as for all rules
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RulesSettings:
    """The settings of all rules."""

    setting: str | None = None
    actions: tuple[str, ...] = ()  # of rules without their own list
    rules: tuple[RuleSettings, ...] = ()
    where: str = ""  # prefix of error messages
    live: bool = True  # False: rules are run later


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """The command-line options about rules, as written."""

    names: tuple[str, ...] = ()  # empty for all rules
    parameters: tuple[str, ...] = ()  # such as StepOutlier.stddev=4
    is_off: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The same as command-line arguments."""
        names = ("--rules", ",".join(self.names)) if self.names else ()
        return (*names, *(word for parameter in self.parameters for word in ("--set", parameter)))


def read_rules(table: Mapping[str, object], path: Path) -> RulesSettings:
    """Read the [rules] section and its tables."""
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
                f"Valid keys: actions, live, setting. Put parameters of a rule under [rules.NAME]."
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
