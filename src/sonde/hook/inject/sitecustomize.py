"""Runs at the start of every Python process of a job, and waits for a framework to be imported.

It imports nothing that Python has not loaded already and is short, since it is often compiled anew
with every start; what there is to do is done in `injected.py`, once there is something to do.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import TracebackType
    from typing import Any

_FOLDER = os.path.join("sonde", "hook", "inject")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# the first is there before those that are built on it
_awaited = dict.fromkeys(
    (
        *("torch", "torch.distributed.checkpoint", "accelerate", "transformers.trainer"),
        *("lightning.pytorch", "pytorch_lightning", "multiprocessing.process"),
        "keras.src.backend.torch.trainer",
        # not seen from inside: only that they were imported is recorded
        *("tensorflow", "jax", "xgboost", "lightgbm", "catboost", "sklearn"),
    )
)


def _find(name: str, path: "Sequence[str] | None", but: object = None) -> "ModuleSpec | None":
    for finder in sys.meta_path:
        if finder is not but and hasattr(finder, "find_spec"):
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

        place = os.path.join(_PACKAGE, "hook", "injected.py")
        module = _run(name, spec_from_file_location(name, place))
        module.attempt_folder, module.is_damage = attempt_folder, _is_damage
        module.record_failure = record_failure
    return sys.modules[name]


def attempt_folder() -> str:
    """Where what concerns this attempt at the job on this node lies; empty: nowhere."""
    place = os.environ.get("SONDE_WORKER_URI") or os.environ.get("SONDE_JOB_URI") or ""
    place = place[7:] if place.startswith("file://") else place
    node, number = os.environ.get("SONDE_NODE"), os.environ.get("SONDE_ATTEMPT", "1")
    if not node or "://" in place or not number.isdigit():
        return ""
    return os.path.join(place, "nodes", node, f"attempt-{int(number):03d}")


def _is_damage(error: BaseException) -> bool:
    """Whether a file of ours is at fault, not the script's signal handler or a Ctrl-C."""
    if isinstance(error, Exception):
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        return False
    from opcode import opname

    instruction = opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]]
    return isinstance(error, SystemExit) or instruction == "RAISE_VARARGS"


def _ask(function: str, *arguments: "Any") -> None:
    """Calls a function of injected.py; where that is missing or damaged, the program goes on."""
    try:
        getattr(_injected(), function)(*arguments)
    except BaseException as error:
        if not _is_damage(error):
            raise
        _awaited.clear()
        if "torch" in arguments:  # who does not train need not hear of it
            _complain(type(error).__name__ + ": " + str(error))
        elif "torch" not in sys.modules:
            _awaited["torch"] = None


def record_failure(reason: str) -> None:
    """Leaves a file that says why the inside of this process is not recorded.

    Its name ends in a checksum of its content: each reason is written once, and damage is seen.
    """
    try:
        from zlib import crc32

        folder, content = attempt_folder(), reason[:500].encode("utf-8", "replace")
        if folder:
            folder = os.path.join(folder, "frameworks")
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, f"unrecorded-{crc32(content):08x}"), "wb") as file:
                file.write(content)
    except (ImportError, OSError, ValueError):  # a full disk, no zlib; the line on stderr remains
        return


def _complain(reason: str) -> None:
    record_failure(reason)
    try:
        sys.stderr.write("sonde: the inside of this process is not recorded: " + reason + "\n")
    except (AttributeError, OSError, ValueError):  # a closed stream
        return


class Lookout:
    """Sees that an awaited module is imported; the other finders find it."""

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: object = None
    ) -> "ModuleSpec | None":
        """What the others find."""
        if name not in _awaited:
            return None
        spec = _find(name, path, self)
        if spec is not None:
            _ask("call_when_executed", spec.loader, name)
        return spec


def wait() -> None:
    """Begins to look out, and takes what is there already."""
    import atexit

    sys.meta_path.insert(0, Lookout())
    show = sys.excepthook

    def excepthook(
        kind: "type[BaseException]", error: BaseException, trace: "TracebackType | None"
    ) -> None:
        if trace is error.__traceback__:
            _ask("clean", error)
            trace = error.__traceback__
        try:
            show(kind, error, trace)
        finally:
            _ask("report", error)

    sys.excepthook = excepthook
    atexit.register(_look_back)
    for name in [name for name in _awaited if name in sys.modules]:
        _ask("is_there", name, sys.modules[name])  # whatever ran before us has imported it


def _look_back() -> None:
    """Reports what another hook, set after ours, has kept to itself."""
    error = getattr(sys, "last_value", None)
    if isinstance(error, BaseException):
        _ask("report", error)
    if isinstance(error, KeyboardInterrupt):
        _ask("end_as_interrupted")


if __name__ == "sitecustomize":
    try:
        # the one that Python would have found without us
        _others = [place for place in sys.path if not os.path.normpath(place).endswith(_FOLDER)]
        _run("sitecustomize", _find("sitecustomize", _others))
    finally:
        if os.environ.get("SONDE_JOB_URI") and os.environ.get("SONDE_DISABLE", "0") in ("", "0"):
            wait()
