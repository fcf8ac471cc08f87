"""The only module that swallows exceptions.

Calls that may fail without affecting the job go through a guard: a collector's read, a flush, a
request. Only the component that fails is switched off, with its traceback in the log and a notice
in the store.
"""

import logging
from collections.abc import Callable
from opcode import opname
from typing import TypeVar

from sonde.errors import SondeError, StoppedJobError

log = logging.getLogger("sonde")
# without a handler of the script, nothing is printed into the job's output
log.addHandler(logging.NullHandler())

Result = TypeVar("Result")

_OUR_FILES = __file__.removesuffix("guard.py")


def error_text(error: BaseException) -> str:
    """An exception in one line, even if its `__str__` fails."""
    try:
        return f"{type(error).__name__}: {error}"
    except (Exception, SystemExit):  # the class may be the script's
        return type(error).__name__


def result_or_reason(
    function: Callable[[], Result], passed: tuple[type[Exception], ...]
) -> tuple[Result | None, str]:
    """Call a function and return its result, or None and the reason of the failure.

    Args:
        function: The function to call.
        passed: Exceptions to raise instead.
    """
    try:
        return function(), ""
    except passed:
        raise
    except Exception as error:  # reported to the caller
        return None, str(error) if isinstance(error, SondeError) else error_text(error)


class Guard:
    """Calls components that may fail, and records which have failed."""

    def __init__(self, on_failure: Callable[[str, BaseException], None] | None = None) -> None:
        self._on_failure = on_failure
        self.failed: dict[str, str] = {}

    def call(self, component: str, function: Callable[[], Result], default: Result) -> Result:
        """Call a function; return the default if it fails or its component has failed before.

        Args:
            component: The name of the component; once it has failed, it is not called again.
            function: The function to call.
            default: The value to return instead.
        """
        return self.shield(component, function, default)()

    def attempt(self, component: str, function: Callable[[], Result], default: Result) -> Result:
        """Like `call`, but a failure is only logged and the component is not switched off."""
        try:
            return function()
        except Exception as error:
            _write_log(logging.WARNING, "%s failed; will retry", component, error)
        except (SystemExit, KeyboardInterrupt) as error:
            if not _is_raised_by_us(error):
                raise
        return default

    def shield(
        self, component: str, function: Callable[..., Result], default: Result
    ) -> Callable[..., Result]:
        """Wrap a function as a hook that never raises and fails only once."""
        failed = self.failed

        def shielded(*arguments: object) -> Result:
            if component in failed:
                return default
            try:
                return function(*arguments)
            except StoppedJobError:  # must end the process
                raise
            except Exception as error:  # the only broad except
                self._switch_off(component, error)
            except (SystemExit, KeyboardInterrupt) as error:
                if not _is_raised_by_us(error):
                    raise
                self._switch_off(component, error)
            return default

        return shielded

    def _switch_off(self, component: str, error: BaseException) -> None:
        """Record a failure; ignore errors while doing so (no stack or memory left)."""
        try:
            self.failed[component] = type(error).__name__
            self.failed[component] = error_text(error)
            _write_log(logging.ERROR, "%s failed and is switched off", component, error)
            if self._on_failure is not None:
                self._on_failure(component, error)
        except (Exception, SystemExit):  # the exception cannot be printed
            return


def _write_log(level: int, text: str, component: str, error: BaseException) -> None:
    """Log a failure; handlers belong to the script and may fail, too."""
    try:
        log.log(level, text, component, exc_info=error)
    except Exception:
        return


def _is_raised_by_us(error: BaseException) -> bool:
    """Whether Sonde raised the exception, not the script, its signal handler or Ctrl-C."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not trace.tb_frame.f_code.co_filename.startswith(_OUR_FILES):
        return False
    instruction = opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]]
    return isinstance(error, SystemExit) or instruction == "RAISE_VARARGS"
