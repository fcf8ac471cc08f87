"""`@sonde.rule`: a rule from a function, for questions that fit into one."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from sonde.errors import UsageError
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Need
from sonde.rules._rule import Rule, State

Check = Callable[..., Iterator[Finding]]


def rule(
    *needs: Need,
    window_steps: int | None = None,
    window_seconds: float | None = None,
    explains: tuple[str, ...] = (),
) -> Callable[[Check], type[Rule]]:
    """Makes a rule of a function `(rule, window, state, *, parameter=default, …)`.

    Its name in CamelCase is the rule's, its docstring the documentation, arguments by keyword are
    the parameters; it yields what `rule.finding(…)` gives.

    Args:
        needs: What has to be recorded.
        window_steps: How many training steps it is shown at a time.
        window_seconds: Or how many seconds.
        explains: Rules, by name, whose findings are consequences of this one's.
    """
    given = {
        "window_steps": window_steps,
        "window_seconds": window_seconds,
    }
    body: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    body |= {"needs": needs, "explains": explains}

    def made(check: Check) -> type[Rule]:
        name = _rule_name(check.__name__)
        parameters = _parameters(check)
        names = [one.name for one in parameters]

        def asked(self: Rule, window: Window, state: State) -> Iterator[Finding]:
            return check(self, window, state, **{one: getattr(self, one) for one in names})

        body["__annotations__"] = {one.name: one.annotation for one in parameters}
        body.update({one.name: one.default for one in parameters})
        body.update({"check": asked, "__doc__": check.__doc__, "__module__": check.__module__})
        return type(name, (Rule,), body)

    return made


def _parameters(check: Check) -> list[inspect.Parameter]:
    signature = inspect.signature(check, eval_str=True).parameters.values()
    places = [one for one in signature if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    if len(places) != 3:
        named = ", ".join(one.name for one in places)
        raise UsageError(
            f"The rule {check.__name__} takes ({named}). It must take (rule, window, state), and "
            f"its parameters by keyword, after a *."
        )
    parameters = [one for one in signature if one.kind is inspect.Parameter.KEYWORD_ONLY]
    for one in parameters:
        if inspect.Parameter.empty in (one.annotation, one.default):
            raise UsageError(
                f"The parameter {one.name} of the rule {check.__name__} needs a type and a "
                f"default, such as {one.name}: float = 1.0"
            )
    return parameters


def _rule_name(name: str) -> str:
    """The CamelCase of a function's name; one that has capitals already stays."""
    if any(letter.isupper() for letter in name):
        return name
    return "".join(part.capitalize() for part in name.split("_"))
