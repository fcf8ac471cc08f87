"""The modes of training."""

from enum import Enum


class ModeKeys(Enum):
    """The mode that a step belongs to; `GLOBAL` counts the steps of all modes."""

    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4


ALLOWED_MODES = tuple(ModeKeys)
ALLOWED_MODE_NAMES = tuple(mode.name for mode in ModeKeys)
