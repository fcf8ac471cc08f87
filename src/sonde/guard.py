"""The only place that swallows exceptions.

Whatever may fail without being allowed to hurt the job is called through a guard: a collector's
read, a flush, a request. A part that fails is switched off alone, once, with its traceback in the
log and a word in the store; everything else goes on.
"""

import logging
from collections.abc import Callable
from opcode import opname
from typing import TypeVar

from sonde.errors import SondeError, StoppedJobError

log = logging.getLogger("sonde")
# who wants to read it says where; without that nothing is printed into the job's own output
log.addHandler(logging.NullHandler())

Result = TypeVar("Result")

_OUR_FILES = __file__.removesuffix("guard.py")


def error_text(error: BaseException) -> str:
    """The exception in one line, whatever its own `__str__` does."""
    try:
        return f"{type(error).__name__}: {error}"
    except (Exception, SystemExit):  # it is the script's own class
        return type(error).__name__


def result_or_reason(
    function: Callable[[], Result], passed: tuple[type[Exception], ...]
) -> tuple[Result | None, str]:
    """The function's result, or None and why it failed.

    Args:
        function: The call.
        passed: Exceptions that are raised all the same.
    """
    try:
        return function(), ""
    except passed:
        raise
    except Exception as error:  # whatever it is, it is told
        return None, str(error) if isinstance(error, SondeError) else error_text(error)


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
        except Exception as error:
            _write_log(logging.WARNING, "%s failed; it will be tried again", part, error)
        except (SystemExit, KeyboardInterrupt) as error:
            if not _is_raised_by_us(error):
                raise
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
            except StoppedJobError:  # the process is to end by it
                raise
            except Exception as error:  # the one broad except of the house
                self._switch_off(part, error)
            except (SystemExit, KeyboardInterrupt) as error:
                if not _is_raised_by_us(error):
                    raise
                self._switch_off(part, error)
            return default

        return shielded

    def _switch_off(self, part: str, error: BaseException) -> None:
        """Take note of a failure; where even that fails (no stack, no memory left), go on."""
        try:
            self.failed[part] = type(error).__name__
            self.failed[part] = error_text(error)
            _write_log(logging.ERROR, "%s failed and is switched off", part, error)
            if self._on_failure is not None:
                self._on_failure(part, error)
        except (Exception, SystemExit):  # of an exception that cannot be printed
            return


def _write_log(level: int, text: str, part: str, error: BaseException) -> None:
    """Log a failure; handlers are the script's own, and may fail too."""
    try:
        log.log(level, text, part, exc_info=error)
    except Exception:
        return


def _is_raised_by_us(error: BaseException) -> bool:
    """Whether a file of ours raised it, not the script, its signal handler or a Ctrl-C."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not trace.tb_frame.f_code.co_filename.startswith(_OUR_FILES):
        return False
    instruction = opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]]
    return isinstance(error, SystemExit) or instruction == "RAISE_VARARGS"
