"""The words for what goes on inside training: modes, phases of a step, stages of a job."""

from enum import StrEnum


class Mode(StrEnum):
    """What a step is for; steps are counted per mode."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "predict"


class Phase(StrEnum):
    """A part of a step. A person may name phases of their own."""

    DATA_WAIT = "data_wait"
    FORWARD = "forward"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"
    HOST_TO_DEVICE = "host_to_device"
    COLLECTIVE = "collective"
    CHECKPOINT = "checkpoint"
    EVALUATION = "evaluation"
    BETWEEN = "between"


class Stage(StrEnum):
    """A part of a job."""

    INITIALIZATION = "initialization"
    TRAINING_LOOP = "training_loop"
    FINALIZATION = "finalization"


NO_STEP = -1  # what happens outside of any step
UNTIMED_DETAIL = '{"timed":false}'  # of a step of which only the end was seen


class EventCategory(StrEnum):
    """What kind of stretch an event is."""

    STEP = "step"
    PHASE = "phase"
    DEVICE = "device"  # a phase again, by the device's own clock
    USER = "user"  # a phase that the script names
    WINDOW = "window"  # a profiler looked deeper; named after its kind
