"""Modes, phases of a step, and stages of a job."""

from enum import StrEnum


class Mode(StrEnum):
    """The mode of a step; steps are numbered per mode."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "predict"


class Phase(StrEnum):
    """A phase of a step. Scripts can add their own phases."""

    DATA_WAIT = "data_wait"
    FORWARD = "forward"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"
    HOST_TO_DEVICE = "host_to_device"
    COLLECTIVE = "collective"
    CHECKPOINT = "checkpoint"
    EVALUATION = "evaluation"
    BETWEEN = "between"


COMPUTING_PHASES = (Phase.FORWARD.value, Phase.BACKWARD.value, Phase.OPTIMIZER.value)
DELIBERATE_PHASES = (Phase.EVALUATION.value, Phase.CHECKPOINT.value)  # not a fault if they are long


class Stage(StrEnum):
    """A stage of a job."""

    INITIALIZATION = "initialization"
    TRAINING_LOOP = "training_loop"
    FINALIZATION = "finalization"


NO_STEP = -1  # outside of any step
MAX_STEPS = "max_steps"  # the scalar with the number of steps to train
UNTIMED_DETAIL = '{"timed":false}'  # a step of which only the end was recorded


class EventCategory(StrEnum):
    """The category of an event."""

    STEP = "step"
    PHASE = "phase"
    DEVICE = "device"  # a phase, measured on the device
    USER = "user"  # a phase named by the script
    WINDOW = "window"  # a profiling window, named after the kind of profiler
