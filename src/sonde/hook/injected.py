"""The part of the injected startup module that runs once a framework is imported.

It is loaded by file path, in any Python and environment of the user, and loads Sonde the same way:
Sonde is not on the user's import path. No exception may escape from it.
"""

import gc
import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OLDEST_PYTHON = (3, 11)
_PROCESSES = "multiprocessing.process"
_UNSUPPORTED = {"tensorflow", "jax", "catboost", "sklearn"}
_NAMED = _UNSUPPORTED | {"torch", "xgboost", "lightgbm"}
# with the version of a package that is not fully imported when its adapter attaches
_VERSIONS = {"keras": "keras.src.version"}

_imported: "set[str]" = set()
_reported: "set[int]" = set()  # ids, since the exceptions would keep their frames alive
_complaints: "list[str]" = []


def is_damage(error: BaseException) -> bool:
    """Whether Sonde caused the error; replaced by the startup module."""
    return isinstance(error, Exception)


def startup_report() -> Any:
    """The module startup_report.py; replaced by the startup module."""


def call_when_executed(loader: Any, name: str) -> None:
    """Call `is_there` after a loader has executed a module; restores the loader afterwards."""
    if isinstance(loader, type) or not hasattr(loader, "__dict__"):
        return
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        is_awaited = module.__name__ == name  # the loader of an archive serves many modules
        if is_awaited:
            vars(loader).pop("exec_module", None)
        try:
            execute(module)
        except BaseException as error:
            _drop_frame(error)
            raise
        if is_awaited:
            is_there(name, module)

    loader.exec_module = _hidden(exec_module)


def is_there(name: str, module: Any) -> None:
    """Handle an awaited module that has been imported."""
    if name in _imported:
        return
    _imported.add(name)
    try:
        if name == _PROCESSES:
            _watch_children(module.BaseProcess)
            return
        package = name.partition(".")[0]
        if package in _VERSIONS:
            version = getattr(sys.modules.get(_VERSIONS[package]), "__version__", "")
            note_framework(package, str(version))
        if name in _NAMED:
            note_framework(name, str(getattr(module, "__version__", "")))
        if name not in _UNSUPPORTED:
            _attach_adapter(name)
    except BaseException as error:
        if not is_damage(error):
            raise
        _complain(error)


def _attach_adapter(name: str) -> None:
    """Load Sonde's adapter with automatic garbage collection disabled.

    The loaded modules are not garbage, but their objects would trigger a full collection during
    the first training steps, which takes a tenth of a second.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        _load("entry").framework_loaded(name)
    finally:
        if is_collecting:
            gc.enable()


def note_framework(name: str, version: str) -> None:
    """Create an empty file that names an imported framework, for readers of the job.

    This loads nothing of Sonde, which would take longer than some scripts run.
    """
    public = version.partition("+")[0]
    suffix = "".join(letter for letter in public if letter.isalnum() or letter in "._")[:40]
    try:
        startup_report().write_marker(name + "-" + suffix)
    except OSError:  # a full disk or a link, which is reported elsewhere
        return


def report(error: BaseException) -> None:
    """Record an exception that ends this process; at an interactive prompt it does not."""
    if id(error) in _reported or hasattr(sys, "ps1"):
        return
    _reported.add(id(error))
    try:
        _load("failure").report(error)
    except BaseException as problem:
        if not is_damage(problem):
            raise
        if _imported - {_PROCESSES}:  # silent in processes that do not train
            _complain(problem)


def clean(error: BaseException) -> None:
    """Remove Sonde's wrappers from the traceback of an exception that is about to be printed."""
    if type(error) is ModuleNotFoundError and error.name == "smdebug":
        error.add_note("sonde: to run scripts written for smdebug: pip install sonde-smdebug")
    if _imported - {_PROCESSES}:  # otherwise there are no wrappers
        _load("hidden_frames").remove_sonde_frames(error)


def end_as_interrupted() -> None:
    """Make Python exit by signal after Ctrl-C, as it would without Sonde.

    Python does so only if the last `exec` ended with the interrupt. Defining dataclasses calls
    `exec`, so loading Sonde for the report would change the exit code.
    """
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return


def _watch_children(process: Any) -> None:
    """Report exceptions of multiprocessing children, which print them without `sys.excepthook`."""
    bootstrap = process._bootstrap

    def _bootstrap(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = self.run

        def reporting() -> None:
            try:
                run()
            except BaseException as error:
                _drop_frame(error)
                _clean_safely(error)
                report(error)
                raise

        self.run = _hidden(reporting)
        try:
            return bootstrap(self, *args, **kwargs)
        except BaseException as error:
            _drop_frame(error)
            raise

    process._bootstrap = _hidden(_bootstrap)


def _clean_safely(error: BaseException) -> None:
    try:
        clean(error)
    except BaseException as problem:
        if not is_damage(problem):
            raise


def _hidden(function: Any) -> Any:
    """Make warnings skip the frames of a function, as they skip Python's import system."""
    if sys.version_info < _OLDEST_PYTHON:
        return function
    code = function.__code__
    name = code.co_filename + " (importlib._bootstrap)"  # see hidden_frames.py
    function.__code__ = code.replace(co_filename=name)
    return function


def _drop_frame(error: BaseException) -> None:
    """Remove the caller's frame, the outermost so far, from a traceback."""
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def _load(module: str) -> Any:
    """Import a module of `sonde.hook` from this installation, not from the user's environment."""
    if sys.version_info < _OLDEST_PYTHON:
        raise ImportError(
            "Sonde requires Python 3.11 or later, but this is Python " + sys.version.split()[0]
        )
    if "sonde" not in sys.modules:
        installed = find_spec("sonde")
        if installed is not None and not _is_sonde(installed):
            raise ImportError("another module is named sonde: " + str(installed.origin))
        path = os.path.join(_PACKAGE, "__init__.py")
        spec = spec_from_file_location("sonde", path, submodule_search_locations=[_PACKAGE])
        assert spec is not None
        assert spec.loader is not None
        sys.modules["sonde"] = module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules["sonde"])
        except BaseException:
            del sys.modules["sonde"]
            raise
    return import_module("sonde.hook." + module)


def _is_sonde(spec: ModuleSpec) -> bool:
    """Whether a module is an installation of Sonde, or a folder of that name without code."""
    folders = list(spec.submodule_search_locations or ())
    if any(os.path.exists(os.path.join(folder, "agent", "launch.py")) for folder in folders):
        return True
    has_code = any(name.endswith(".py") for folder in folders for name in os.listdir(folder))
    return spec.origin is None and not has_code


def _complain(error: BaseException) -> None:
    """Report once, on standard error and in a file, that this process is not recorded."""
    if _complaints:
        return
    _complaints.append("")
    try:
        text = str(error) or type(error).__name__
        startup_report().record_failure(_without_secrets(error, text))
        if sys.stderr is not None:
            sys.stderr.write("sonde: training in this process is not recorded: %s\n" % text)
    except BaseException as problem:  # a closed stream, or an exception that cannot become text
        if not is_damage(problem):
            raise


def _without_secrets(error: BaseException, text: str) -> str:
    """The masked text of an error, or its type if the masking module cannot be loaded."""
    if isinstance(error, (ImportError, SyntaxError, OSError)):  # name only modules and files
        return text
    try:
        _load("hidden_frames")
        return str(import_module("sonde.masking").mask_text(text))
    except BaseException as problem:
        if not is_damage(problem):
            raise
        return type(error).__name__
