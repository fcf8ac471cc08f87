"""`@sonde.rule`: define a rule as a function."""

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
    """Create a rule from a function `(rule, window, state, *, parameter=default, …)`.

    The function's name in CamelCase is the name of the rule, its docstring the documentation, and
    its keyword arguments are the parameters. It yields the results of `rule.finding(…)`.

    Args:
        needs: The data to record.
        window_steps: The length of a window in training steps.
        window_seconds: The length of a window in seconds, instead of `window_steps`.
        explains: Rules, by name, whose findings are consequences of this one's.
    """
    values = {
        "window_steps": window_steps,
        "window_seconds": window_seconds,
    }
    body: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    body |= {"needs": needs, "explains": explains}

    def create_rule(check: Check) -> type[Rule]:
        name = _rule_name(check.__name__)
        parameters = _parameters(check)
        names = [parameter.name for parameter in parameters]

        def run_check(self: Rule, window: Window, state: State) -> Iterator[Finding]:
            return check(self, window, state, **{name: getattr(self, name) for name in names})

        body["__annotations__"] = {parameter.name: parameter.annotation for parameter in parameters}
        body.update({parameter.name: parameter.default for parameter in parameters})
        body.update({"check": run_check, "__doc__": check.__doc__, "__module__": check.__module__})
        return type(name, (Rule,), body)

    return create_rule


def _parameters(check: Check) -> list[inspect.Parameter]:
    signature = inspect.signature(check, eval_str=True).parameters.values()
    positional = [
        parameter for parameter in signature if parameter.kind is not inspect.Parameter.KEYWORD_ONLY
    ]
    if len(positional) != 3:
        names = ", ".join(parameter.name for parameter in positional)
        raise UsageError(
            f"The rule {check.__name__} takes ({names}). It must take (rule, window, state), "
            f"followed by * and its parameters."
        )
    parameters = [
        parameter for parameter in signature if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    for parameter in parameters:
        if inspect.Parameter.empty in (parameter.annotation, parameter.default):
            raise UsageError(
                f"The parameter {parameter.name} of the rule {check.__name__} needs a type and a "
                f"default, such as {parameter.name}: float = 1.0"
            )
    return parameters


def _rule_name(name: str) -> str:
    """Return a function's name in CamelCase; a name with capitals is returned unchanged."""
    if any(letter.isupper() for letter in name):
        return name
    return "".join(word.capitalize() for word in name.split("_"))
