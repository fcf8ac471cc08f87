"""The base class of rules: parameters, required data, and a check of one window at a time.

A rule never waits, fetches, acts, or raises to signal. It gets windows with fixed boundaries, one
after the other, and keeps data between windows in its state.
"""

import dataclasses
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, Self, dataclass_transform

from sonde.read.window import Window
from sonde.records.finding import Evidence, Finding, Setting, Severity
from sonde.records.need import Need
from sonde.records.shortfall import Shortfall

_SECTION = re.compile(r"^(Why it matters|What to do|How it decides):\s*", re.MULTILINE)
_ITEM = re.compile(r"^- ", re.MULTILINE)


class Section(StrEnum):
    """The topic of a rule; documentation and pages group rules by it."""

    DATA = "Data"
    MODEL = "Model"
    TRAINING = "Training"
    SPEED = "Speed"
    MACHINE = "Machine"
    OTHER = "Other"


class State(dict[str, Any]):
    """The state of a rule between windows: JSON values, which the engine saves and restores."""

    def of(self, *names: object) -> "State":
        """Return the state of one subject, such as a tensor, a worker or a GPU."""
        result: State = self
        for name in names:
            inner = result.get(str(name))
            if not isinstance(inner, State):
                inner = result[str(name)] = State(inner or {})
            result = inner
        return result


@dataclasses.dataclass(frozen=True)
class Pages:
    """A rule's documentation, taken from its docstring."""

    question: str
    why: str
    decides: str  # one line per condition
    advice: str

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions under which the rule fires, and when it is not applied."""
        return tuple(self.decides.splitlines())


@dataclass_transform(kw_only_default=True, frozen_default=True)
@dataclasses.dataclass(frozen=True, kw_only=True)
class Rule(ABC):
    """Base class of rules. Annotated fields of subclasses, with defaults, are parameters.

    The first line of the docstring says what the rule detects. `Why it matters:`, `How it
    decides:` (a list of conditions) and `What to do:` start its other sections.
    """

    section: ClassVar[Section] = Section.OTHER
    # The data that makes the rule applicable; any of it is enough. `check` is called for every
    # window, with or without this data, and may read other data, too.
    needs: ClassVar[tuple[Need, ...]] = ()
    # Thresholds beyond the parameters: a frozen dataclass that says where each comes from.
    calibration: ClassVar[object] = None
    # Defaults of parameters with the classic setting, if they differ from those of the fields.
    classic_defaults: ClassVar[Mapping[str, object]] = {}
    # Length of a window: a number of training steps, or of seconds.
    window_steps: ClassVar[int | None] = 50
    window_seconds: ClassVar[float | None] = None
    # Whether windows without new observations or evaluations are skipped, except for one in fifty
    # steps and the last one. For windows of a few steps.
    skips_quiet: ClassVar[bool] = False
    # Whether the last window includes data from after the last finished training step.
    sees_end: ClassVar[bool] = False
    # Whether a `stop` action can stop the job before the optimizer uses the values it found.
    stops_before_damage: ClassVar[bool] = False
    # Number of windows with data but without a finding after which an episode is resolved. 0: the
    # rule reports it itself by yielding `recovered()`.
    recovers_after: ClassVar[int] = 2
    # Rules, by name, whose findings at the same time and place are consequences of this one's.
    explains: ClassVar[tuple[str, ...]] = ()
    # Rules, by name, that run with this one and take its parameters as `Rule_parameter`.
    covers: ClassVar[tuple[str, ...]] = ()

    setting: Setting = Setting.CALIBRATED

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)

    def __new__(cls, **values: Any) -> Self:
        """Remember which parameters were set explicitly, even if equal to their default."""
        rule = super().__new__(cls)
        object.__setattr__(rule, "_explicit", frozenset(values))
        return rule

    def __post_init__(self) -> None:
        if self.is_classic:
            for name in self.classic_defaults.keys() - self.explicit_parameters:
                object.__setattr__(self, name, self.classic_defaults[name])

    @abstractmethod
    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Yield the problems in a window, and again in every window in which they persist."""

    def lacks(self, state: State) -> str | Shortfall:
        """The data that is missing for a decision, as numbers or text; empty if none is."""
        del state
        return ""

    def unfit(self, state: State) -> str:
        """Why the rule does not apply to this job although there is data; empty if it applies."""
        del state
        return ""

    def summary(self, state: State) -> Evidence:
        """Measurements so far, whether the rule fires or not; empty by default."""
        del state
        return {}

    @classmethod
    def name(cls) -> str:
        """The name, as in reports and on the dashboard."""
        return cls.__name__

    @classmethod
    def pages(cls) -> Pages:
        """The documentation of the rule."""
        return _pages(inspect.getdoc(cls) or cls.__name__)

    @property
    def needed(self) -> tuple[Need, ...]:
        """The data to record for the rule with its parameters; `needs` by default."""
        return self.needs

    @property
    def is_classic(self) -> bool:
        """Whether the criterion is applied exactly as originally documented."""
        return self.setting is Setting.CLASSIC

    @property
    def explicit_parameters(self) -> frozenset[str]:
        """The parameters that were set explicitly; they take precedence over the setting."""
        return frozenset(getattr(self, "_explicit", ()))

    @property
    def parameters(self) -> Mapping[str, object]:
        """All parameters and their values."""
        return {name: getattr(self, name) for name in parameter_names(type(self))}

    def finding(
        self,
        message: str,
        *,
        severity: Severity = Severity.WARNING,
        step: int | tuple[int, int] | None = None,
        evidence: Evidence | None = None,
        **about: Any,
    ) -> Finding:
        """Create a finding of this rule.

        Args:
            message: What is wrong, with numbers and the name of the cause.
            severity: The severity.
            step: A step, or the first and the last step.
            evidence: The numbers that made the rule fire, by name; values of None are omitted.
            about: What is affected: `node`, `worker`, `device`, `tensor`. Also `advice`, instead
                of that in the docstring, `time_ns`, `cause`, `subject` and `improvement`.
        """
        about.setdefault("advice", self.pages().advice)
        steps = (step, step) if isinstance(step, int) else step
        measured = {name: value for name, value in (evidence or {}).items() if value is not None}
        return Finding(self.name(), severity, message, steps=steps, evidence=measured, **about)

    def recovered(self, subject: str) -> Finding:
        """Resolve the open finding about a subject; has no effect if there is none."""
        return Finding(self.name(), Severity.INFO, "", subject=subject, is_over=True)


def parameter_names(kind: type[Rule]) -> tuple[str, ...]:
    """The parameters of a rule in order of definition; inherited ones come last."""
    fields = {field.name for field in dataclasses.fields(kind)} - {"setting"}
    names = (name for base in kind.__mro__ for name in inspect.get_annotations(base))
    return tuple(dict.fromkeys(name for name in names if name in fields))


@cache
def _pages(text: str) -> Pages:
    first, *sections = _SECTION.split(text)
    named = dict(zip(sections[::2], map(_unwrapped, sections[1::2]), strict=True))
    return Pages(
        question=_one_line(first),
        why=named.get("Why it matters", ""),
        decides=named.get("How it decides", ""),
        advice=named.get("What to do", ""),
    )


def _unwrapped(text: str) -> str:
    """Join a paragraph into one line, and each list item into a line of its own."""
    return "\n".join(filter(None, map(_one_line, _ITEM.split(text))))


def _one_line(text: str) -> str:
    return " ".join(text.split())
