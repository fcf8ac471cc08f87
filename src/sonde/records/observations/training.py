"""What state checks observe about the training loop: modes, stalls, output."""

from dataclasses import dataclass

from sonde.records.observations.observation_record import ObservationRecord, keyed


@dataclass(frozen=True)
class ModelMode(ObservationRecord):
    """The mode of a model that is not, or not completely, in the mode of the step."""

    mode: str = keyed("is", "")  # of the model; empty once all modes match
    modules: tuple[str, ...] = ()  # the first ones in the wrong mode


@dataclass(frozen=True)
class Stall(ObservationRecord):
    """What a worker does while no step ends; empty once it continues."""

    # `collective`, `backward`, `device`, `loading`, `checkpoint`, `compiling`; empty if unknown
    activity: str = keyed("in", "")
    stack: tuple[str, ...] = ()  # the innermost frame last


@dataclass(frozen=True)
class RecompiledFunction(ObservationRecord):
    """A function that `torch.compile` compiled again."""

    line: str = ""  # where it is defined
    reason: str = ""  # the guard that failed


@dataclass(frozen=True)
class OutputSource(ObservationRecord):
    """What training spends time on when it prints or logs."""

    function: str = keyed("by", "")  # `print`, `logging`, `tqdm`, …
