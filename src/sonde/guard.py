"""The only place that swallows exceptions.

Whatever may fail without being allowed to hurt the job is called through a guard: a collector's
read, a flush, a request. A part that fails is switched off alone, once, with its traceback in the
log and a word in the store; everything else goes on.
"""

import logging
from collections.abc import Callable
from typing import TypeVar

log = logging.getLogger("sonde")
# who wants to read it says where; without that nothing is printed into the job's own output
log.addHandler(logging.NullHandler())

Result = TypeVar("Result")


class Guard:
    """Calls parts that may fail, and remembers which ones have."""

    def __init__(self, on_failure: Callable[[str, BaseException], None] | None = None) -> None:
        self._on_failure = on_failure
        self.failed: dict[str, str] = {}

    def call(self, part: str, function: Callable[[], Result], default: Result) -> Result:
        """The function's result, or the default once the part has failed.

        Args:
            part: Who is being called; a part that failed once is not called again.
            function: The call.
            default: What to give instead.
        """
        return self.shield(part, function, default)()

    def attempt(self, part: str, function: Callable[[], Result], default: Result) -> Result:
        """Like `call`, but a failure is only logged: the next attempt is made as usual."""
        try:
            return function()
        except Exception:
            log.warning("%s failed; it will be tried again", part, exc_info=True)
            return default

    def shield(
        self, part: str, function: Callable[..., Result], default: Result
    ) -> Callable[..., Result]:
        """The function as a hook that others may call: it never raises, and fails only once."""
        failed = self.failed

        def shielded(*arguments: object) -> Result:
            if part in failed:
                return default
            try:
                return function(*arguments)
            except Exception as error:  # noqa: BLE001 — the one broad except of the house
                self._switch_off(part, error)
                return default

        return shielded

    def _switch_off(self, part: str, error: Exception) -> None:
        self.failed[part] = f"{type(error).__name__}: {error}"
        log.error("%s failed and is switched off", part, exc_info=error)
        if self._on_failure is not None:
            self._on_failure(part, error)
