"""The module names of smdebug, the SageMaker Debugger client, on top of Sonde."""

from smdebug.core.collection import CollectionKeys
from smdebug.core.modes import ModeKeys as modes
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveConfig, SaveConfigMode

__version__ = "0.1.0"

__all__ = ["CollectionKeys", "ReductionConfig", "SaveConfig", "SaveConfigMode", "modes"]
