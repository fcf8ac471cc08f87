"""What the injected start-up module does in the user's process, once there is something to do.

It is loaded by its place on the disk, from whatever Python and environment the user has, and loads
Sonde in the same way: nothing of ours is on the user's path.
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
_NOT_SEEN = {"tensorflow", "jax", "xgboost", "lightgbm", "catboost", "sklearn"}
_NAMED = _NOT_SEEN | {"torch"}

_seen: "set[str]" = set()
_reported: "set[int]" = set()  # by id: the exceptions themselves would keep everything alive
_complaints: "list[str]" = []


def attempt_folder() -> str:
    """Where what concerns this attempt at the job lies; the start-up module says it."""
    return ""


def is_damage(error: BaseException) -> bool:
    """Whether a file of ours is at fault; the start-up module, which loads this, knows better."""
    return isinstance(error, Exception)


def record_failure(reason: str) -> None:
    """Leaves a file that says why nothing is recorded; the start-up module has the function."""


def call_when_executed(loader: Any, name: str) -> None:
    """Changes this one loader for one call; afterwards nothing shows that it was changed."""
    if isinstance(loader, type) or not hasattr(loader, "__dict__"):
        return
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        is_it = module.__name__ == name  # the loader of an archive serves many modules
        if is_it:
            vars(loader).pop("exec_module", None)
        try:
            execute(module)
        except BaseException as error:
            _leave_no_trace(error)
            raise
        if is_it:
            is_there(name, module)

    loader.exec_module = _hidden(exec_module)


def is_there(name: str, module: Any) -> None:
    """An awaited module can be used from now on."""
    if name in _seen:
        return
    _seen.add(name)
    try:
        if name == _PROCESSES:
            _watch_children(module.BaseProcess)
            return
        if name in _NAMED:
            note_framework(name, str(getattr(module, "__version__", "")))
        if name not in _NOT_SEEN:
            _attach_adapter(name)
    except BaseException as error:
        if not is_damage(error):
            raise
        _complain(error)


def _attach_adapter(name: str) -> None:
    """Load Sonde's adapter with automatic garbage collection switched off.

    The modules it loads stay: they are no garbage, but they would make Python start its next full
    collection in the first steps of a training, which takes a tenth of a second.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        _load("entry").framework_loaded(name)
    finally:
        if is_collecting:
            gc.enable()


def note_framework(name: str, version: str) -> None:
    """Leaves an empty file that names a framework: whoever reads the job knows that it was used.

    Nothing of Sonde is loaded for that, which would take longer than some scripts.
    """
    folder = attempt_folder()
    if not folder:
        return
    kept = "".join(sign for sign in version.partition("+")[0] if sign.isalnum() or sign in "._")[
        :40
    ]
    place = os.path.join(folder, "frameworks")
    try:
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, name + "-" + kept), "ab"):
            pass
    except OSError:  # a full disk; others say so
        return


def report(error: BaseException) -> None:
    """An exception ends this process; at a prompt it does not."""
    if id(error) in _reported or hasattr(sys, "ps1"):
        return
    _reported.add(id(error))
    try:
        _load("failure").report(error)
    except BaseException as problem:
        if not is_damage(problem):
            raise
        if _seen - {_PROCESSES}:  # who does not train need not hear of it
            _complain(problem)


def clean(error: BaseException) -> None:
    """Takes our wrappers from the traceback of an exception that is about to be shown."""
    if _seen - {_PROCESSES}:  # nothing of ours is wrapped around anything otherwise
        _load("own_frames").remove_own_frames(error)


def end_as_interrupted() -> None:
    """After a Ctrl-C Python dies by the signal, unless it has executed a text since.

    Dataclasses are made of such texts, so what we have loaded to report would change the exit code.
    """
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return


def _watch_children(process: Any) -> None:
    """A child of multiprocessing shows its exception by itself, and no hook ever sees it."""
    bootstrap = process._bootstrap

    def _bootstrap(self: Any, *given: Any, **named: Any) -> Any:
        run = self.run

        def reporting() -> None:
            try:
                run()
            except BaseException as error:
                _leave_no_trace(error)
                _clean_safely(error)
                report(error)
                raise

        self.run = _hidden(reporting)
        try:
            return bootstrap(self, *given, **named)
        except BaseException as error:
            _leave_no_trace(error)
            raise

    process._bootstrap = _hidden(_bootstrap)


def _clean_safely(error: BaseException) -> None:
    try:
        clean(error)
    except BaseException as problem:
        if not is_damage(problem):
            raise


def _hidden(function: Any) -> Any:
    """Makes warnings skip the frames of a function, as they skip those of Python's imports."""
    if sys.version_info < _OLDEST_PYTHON:
        return function
    code = function.__code__
    name = code.co_filename + " (importlib._bootstrap)"  # see own_frames.py
    function.__code__ = code.replace(co_filename=name)
    return function


def _leave_no_trace(error: BaseException) -> None:
    """Takes the caller's frame, the outermost so far, from what the user will read."""
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def _load(part: str) -> Any:
    """A module of Sonde, from where this file lies, whatever this environment has installed."""
    if sys.version_info < _OLDEST_PYTHON:
        raise ImportError("it needs Python 3.11, and this is " + sys.version.split()[0])
    if "sonde" not in sys.modules:
        other = find_spec("sonde")
        if other is not None and not _is_sonde(other):
            raise ImportError("another module has its name: " + str(other.origin))
        place = os.path.join(_PACKAGE, "__init__.py")
        spec = spec_from_file_location("sonde", place, submodule_search_locations=[_PACKAGE])
        assert spec is not None
        assert spec.loader is not None
        sys.modules["sonde"] = module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules["sonde"])
        except BaseException:
            del sys.modules["sonde"]
            raise
    return import_module("sonde.hook." + part)


def _is_sonde(spec: ModuleSpec) -> bool:
    """Whether it is one of ours, or a folder of that name without any code in it."""
    folders = list(spec.submodule_search_locations or ())
    if any(os.path.exists(os.path.join(one, "agent", "launch.py")) for one in folders):
        return True
    has_code = any(name.endswith(".py") for one in folders for name in os.listdir(one))
    return spec.origin is None and not has_code


def _complain(error: BaseException) -> None:
    """One line and one file, once, for what would otherwise be missing in silence."""
    if _complaints:
        return
    _complaints.append("")
    try:
        text = str(error) or type(error).__name__
        record_failure(_without_secrets(error, text))
        if sys.stderr is not None:
            sys.stderr.write("sonde: the inside of this process is not recorded: %s\n" % text)
    except Exception:  # a closed stream, or an exception that cannot be printed
        return


def _without_secrets(error: BaseException, text: str) -> str:
    """The text of an error, masked; only its type where the masking itself cannot be loaded."""
    if isinstance(error, (ImportError, SyntaxError, OSError)):  # these name modules and files
        return text
    try:
        _load("own_frames")
        return str(import_module("sonde.masking").mask_text(text))
    except BaseException as problem:
        if not is_damage(problem):
            raise
        return type(error).__name__
