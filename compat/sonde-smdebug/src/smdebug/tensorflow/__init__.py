"""The hook for Keras."""

from importlib import import_module
from typing import TYPE_CHECKING

from smdebug.core.collection import Collection, CollectionKeys
from smdebug.core.current_hook import del_hook, set_hook
from smdebug.core.modes import ModeKeys as modes
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveConfig, SaveConfigMode
from smdebug.tensorflow.keras_hook import EstimatorHook, KerasHook, SessionHook, get_hook

if TYPE_CHECKING:
    from smdebug.trials import create_trial as create_trial

Hook = KerasHook

__all__ = [
    "Collection",
    "CollectionKeys",
    "EstimatorHook",
    "Hook",
    "KerasHook",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "SessionHook",
    "create_trial",
    "del_hook",
    "get_hook",
    "modes",
    "set_hook",
]


def __getattr__(name: str) -> object:
    if name != "create_trial":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # loaded on demand: training needs nothing that reads a recording
    return import_module("smdebug.trials").create_trial
