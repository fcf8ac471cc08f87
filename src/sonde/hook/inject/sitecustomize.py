"""Runs at the start of every Python process of a job, and waits for a framework to be imported.

It imports only modules that Python has already loaded, and is short because Python often compiles
it again at every start. The actual work is in `injected.py`, and `startup_report.py` reports
failures; both are loaded on demand. No exception may escape from it.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, FrameType, TracebackType
    from typing import Any

_FOLDER = os.path.join("sonde", "hook", "inject")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_REPORT_PATH = os.path.join(_PACKAGE, "hook", "startup_report.py")
try:
    # read now: if this process gives up its privileges, it may lose access to the file
    with open(_REPORT_PATH, "rb") as _file:
        _REPORT = _file.read()
except OSError:
    _REPORT = b""
# written by `make startup` from the adapters in hook/frameworks
_BY_ADAPTERS = (
    "keras.src.backend.torch.trainer",
    "keras.src.backend.jax.trainer",
    "keras.src.backend.tensorflow.trainer",
    "lightgbm",
    "torch",
    "torch.distributed.checkpoint",
    "xgboost",
    "accelerate",
    "lightning.pytorch",
    "pytorch_lightning",
    "transformers.trainer",
)
_awaited = dict.fromkeys(
    (
        *_BY_ADAPTERS,
        "multiprocessing.process",
        # unsupported frameworks: only their import is recorded
        *("tensorflow", "jax", "catboost", "sklearn"),
    )
)


def _find(name: str, path: "Sequence[str] | None", skipped: object = None) -> "ModuleSpec | None":
    for finder in sys.meta_path:
        if finder is not skipped and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path)
            if spec is not None:
                return spec
    return None


def _run(name: str, spec: "ModuleSpec | None") -> "Any":
    from _frozen_importlib import module_from_spec  # importlib.util takes milliseconds

    if spec is not None and spec.loader is not None:
        sys.modules[name] = module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        return module
    return None


def _injected() -> "Any":
    name = "_sonde_injected"
    if name not in sys.modules:
        from _frozen_importlib_external import spec_from_file_location

        path = os.path.join(_PACKAGE, "hook", "injected.py")
        module = _run(name, spec_from_file_location(name, path))
        module.is_damage, module.startup_report = _is_damage, startup_report
    return sys.modules[name]


def startup_report() -> "Any":
    """The module startup_report.py, compiled when it is first needed."""
    name = "_sonde_startup_report"
    if name not in sys.modules:
        module = type(sys)(name)
        exec(compile(_REPORT, _REPORT_PATH, "exec"), vars(module))
        sys.modules[name] = module
    return sys.modules[name]


def _traceback_of(error: BaseException) -> "TracebackType | None":
    """The traceback of an exception, even if its class defines `__traceback__`."""
    trace: TracebackType | None = BaseException.__dict__["__traceback__"].__get__(error)
    return trace


def _is_damage(error: BaseException) -> bool:
    """Whether Sonde caused the error, rather than a signal handler of the script or Ctrl-C.

    The same as `is_interrupt` in `sonde/guard.py`, which may be unreadable here.
    """
    trace, last = _traceback_of(error), None
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith(_PACKAGE) and _is_handler(code, trace.tb_frame):
            return False
        trace, last = trace.tb_next, trace
    if issubclass(type(error), (Exception, SystemExit)):
        return True
    try:
        from opcode import opname  # perhaps unreadable, too
    except (ImportError, OSError):
        return False
    return (
        last is not None and opname[last.tb_frame.f_code.co_code[last.tb_lasti]] == "RAISE_VARARGS"
    )


def _is_handler(code: "CodeType", frame: "FrameType") -> bool:
    """Whether a frame is the call of a signal handler: it receives a number and its caller."""
    count, values = code.co_argcount, frame.f_locals
    arguments = [values.get(name) for name in code.co_varnames[:count]]
    if code.co_flags & 4:  # *args
        arguments += values.get(code.co_varnames[count + code.co_kwonlyargcount]) or ()
    return frame.f_back is not None and any(
        type(arguments[i - 1]) is int and arguments[i] is frame.f_back
        for i in range(1, len(arguments))
    )


def _call(function: str, *arguments: "Any") -> None:
    """Call a function of injected.py; if that file is missing or damaged, the program continues."""
    try:
        getattr(_injected(), function)(*arguments)
    except BaseException as error:
        if not _is_damage(error):
            raise
        _awaited.clear()
        if "torch" in arguments:  # silent in processes that do not train
            _complain(_text_of(error))
        elif "torch" not in sys.modules:
            _awaited["torch"] = None


def _text_of(error: BaseException) -> str:
    try:
        return type(error).__name__ + ": " + str(error)
    except BaseException as problem:  # the class may be the script's
        if not _is_damage(problem):
            raise
        return "an exception that cannot be printed"


def _complain(reason: str) -> None:
    try:
        startup_report().record_failure(reason)
    except BaseException as problem:  # that file is missing or damaged, too
        if not _is_damage(problem):
            raise
    try:
        sys.stderr.write("sonde: training in this process is not recorded: " + reason + "\n")
    except (AttributeError, OSError, ValueError):  # a closed stream
        return


class ImportWatcher:
    """Detects imports of awaited modules; the other finders locate them."""

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: object = None
    ) -> "ModuleSpec | None":
        """Return what the other finders return."""
        if name not in _awaited:
            return None
        spec = _find(name, path, self)
        if spec is not None:
            _call("call_when_executed", spec.loader, name)
        return spec


def wait() -> None:
    """Start watching imports, and handle modules that are already imported."""
    import atexit

    sys.meta_path.insert(0, ImportWatcher())
    show = sys.excepthook

    def excepthook(
        kind: "type[BaseException]", error: BaseException, trace: "TracebackType | None"
    ) -> None:
        if trace is _traceback_of(error):
            _call("clean", error)
            trace = _traceback_of(error)
        try:
            show(kind, error, trace)
        finally:
            _call("report", error)

    sys.excepthook = excepthook
    atexit.register(_report_last_exception)
    for name in [name for name in _awaited if name in sys.modules]:
        _call("is_there", name, sys.modules[name])  # imported by another startup module


def _report_last_exception() -> None:
    """Report an exception that a later `sys.excepthook` did not pass on."""
    error = getattr(sys, "last_value", None)
    if issubclass(type(error), BaseException):  # isinstance() may call methods of its class
        _call("report", error)
    if issubclass(type(error), KeyboardInterrupt):
        _call("end_as_interrupted")


if __name__ == "sitecustomize":
    try:
        # run the sitecustomize that Python would have found without this one
        _paths = [path for path in sys.path if not os.path.normpath(path).endswith(_FOLDER)]
        _run("sitecustomize", _find("sitecustomize", _paths))
    finally:
        if os.environ.get("SONDE_JOB_URI") and os.environ.get("SONDE_DISABLE", "0") in ("", "0"):
            wait()
