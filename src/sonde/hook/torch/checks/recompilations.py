"""What `torch.compile` compiles again, how long that takes, and the guard that failed."""

import sys
from itertools import takewhile
from typing import Any

from sonde.hook.steps import FinishedStep
from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.records.observation import ObservationKind
from sonde.records.observations.training import RecompiledFunction

_COUNTERS = "torch._dynamo.utils"  # never imported by this check
_MAX_REASON = 300


class Recompilations(StateCheck):
    """Record the compilations that the compiler has logged since the last step.

    Its log is a short queue of records. Comparing the last one takes less than a microsecond.
    """

    name = "recompilations"
    observes = (ObservationKind.RECOMPILATION,)
    order = 90

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        self._last: Any = None

    def begin(self) -> None:
        """Ignore what was compiled before training."""
        if log := _log():
            self._last = log[-1]

    def after_step(self, step: FinishedStep) -> None:
        """Record each new compilation that a failed guard caused."""
        log = _log()
        if not log or log[-1] is self._last:
            return
        latest = takewhile(lambda entry: entry is not self._last, reversed(log))
        entries, self._last = tuple(latest), log[-1]
        for entry in reversed(entries):
            if reason := getattr(entry, "recompile_reason", None):
                self._record(entry, str(reason), step)

    def _record(self, entry: Any, reason: str, step: FinishedStep) -> None:
        seconds = (getattr(entry, "duration_us", None) or 0) / 1e6
        line = f"{entry.co_filename}:{entry.co_firstlineno}"
        detail = RecompiledFunction(line=line, reason=_guard(reason))
        at = (step.mode, step.number)
        self._observe(ObservationKind.RECOMPILATION, str(entry.co_name), seconds, detail, at)


def _log() -> Any:
    """The compiler's log; None if it has not been imported, or has no log."""
    module = sys.modules.get(_COUNTERS)
    return None if module is None else vars(module).get("_compilation_metrics")


def _guard(reason: str) -> str:
    """The guard that failed, without the number of the compiled version."""
    first = reason.strip().splitlines()[0]
    number, _, rest = first.partition(":")
    return (rest.strip() if "/" in number else first)[:_MAX_REASON]
