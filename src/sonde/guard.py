"""The only module that swallows exceptions.

Calls that may fail without affecting the job go through a guard: a collector's read, a flush, a
request. Only the component that fails is switched off, with its traceback in the log and a notice
in the store.
"""

import logging
from collections.abc import Callable
from itertools import pairwise
from opcode import opname
from types import CodeType, FrameType, TracebackType
from typing import TypeVar

from sonde.errors import SondeError, StoppedJobError

log = logging.getLogger("sonde")
# without a handler of the script, nothing is printed into the job's output
log.addHandler(logging.NullHandler())

Result = TypeVar("Result")

_OUR_FILES = __file__.removesuffix("guard.py")
_HAS_VARIABLE_ARGUMENTS = 4  # `inspect.CO_VARARGS`; importing `inspect` takes milliseconds


def error_text(error: BaseException) -> str:
    """An exception in one line, even if its `__str__` fails."""
    name = str(type.__dict__["__name__"].__get__(type(error)))  # the class may be the script's
    try:
        return f"{name}: {error}"
    except BaseException as problem:
        if is_interrupt(problem):
            raise
        return name


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
    except BaseException as error:  # reported to the caller
        if is_interrupt(error):
            raise
        return None, str(error) if isinstance(error, SondeError) else error_text(error)


def is_interrupt(error: BaseException) -> bool:
    """Whether a signal handler of the script, or Ctrl-C, raised the exception.

    Everything else that a call of Sonde raises is a failure of Sonde, even if it comes from code of
    the script, such as an exception whose `__str__` exits. `hook/inject/sitecustomize.py` contains
    the same function.
    """
    trace: TracebackType | None = BaseException.__dict__["__traceback__"].__get__(error)
    instruction = ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith(_OUR_FILES) and _is_handler(code, trace.tb_frame):
            return True
        instruction = opname[code.co_code[trace.tb_lasti]]
        trace = trace.tb_next
    return not issubclass(type(error), (Exception, SystemExit)) and instruction != "RAISE_VARARGS"


def _is_handler(code: CodeType, frame: FrameType) -> bool:
    """Whether a frame is the call of a signal handler: it receives a number and its caller."""
    count, values = code.co_argcount, frame.f_locals
    arguments = [values.get(name) for name in code.co_varnames[:count]]
    if code.co_flags & _HAS_VARIABLE_ARGUMENTS:
        arguments += values.get(code.co_varnames[count + code.co_kwonlyargcount]) or ()
    return frame.f_back is not None and any(
        type(number) is int and caller is frame.f_back for number, caller in pairwise(arguments)
    )


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
        except BaseException as error:
            if is_interrupt(error):
                raise
            _write_log(logging.WARNING, "%s failed; will retry", component, error)
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
            except BaseException as error:  # the only broad except
                if is_interrupt(error):
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
        except RecursionError:  # no stack left to find out more
            return
        except BaseException as problem:  # the exception cannot be printed
            if is_interrupt(problem):
                raise


def _write_log(level: int, text: str, component: str, error: BaseException) -> None:
    """Log a failure; handlers belong to the script and may fail, too."""
    try:
        log.log(level, text, component, exc_info=error)
    except RecursionError:
        return
    except BaseException as problem:
        if is_interrupt(problem):
            raise
