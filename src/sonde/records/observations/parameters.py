"""What state checks observe about single parameters, their gradients and their layers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from sonde.records.observations.observation_record import ObservationRecord, json_object, keyed

_OVER = "over"  # the detail of earlier versions when a state had ended
_ENDED: Mapping[str, Any] = {"is_over": True}


class OwnershipFault(IntEnum):
    """Why a parameter is in no optimizer: the value of the observation."""

    LEFT_OUT = 0
    REPLACED = 1  # an optimizer holds an unused parameter of the same shape
    UNREGISTERED = 2  # its layer is in a plain list or dict of a module


@dataclass(frozen=True)
class UnownedParameter(ObservationRecord):
    """A parameter that is in no optimizer and does not change."""

    is_over: bool = False

    @classmethod
    def _read(cls, detail: str, subject: str, value: float) -> Mapping[str, Any]:
        del subject, value
        return _ENDED if detail == _OVER else json_object(detail)


class LayerUse(StrEnum):
    """How the layer of a parameter without a gradient is used."""

    UNKNOWN = ""
    CUT = "cut"  # runs before every layer that gets gradients
    SIDE = "side"  # runs after layers that get gradients; its output is not used
    UNTRACKED = "untracked"  # runs under no_grad() in training, with initial weights
    # the same with loaded or trained weights, or not at every step
    FROZEN = "frozen"
    UNUSED = "unused"  # does not run
    CLEARED = "cleared"  # all gradients were cleared between the backward pass and the step


_LAYER_USES = frozenset(use.value for use in LayerUse)


@dataclass(frozen=True)
class MissingGradient(ObservationRecord):
    """A parameter in an optimizer without a gradient, while others have one."""

    use: LayerUse = LayerUse.UNKNOWN
    line: str = ""  # of the script that runs the layer under no_grad()
    at_every_step: bool = False  # under no_grad()
    is_over: bool = False

    @classmethod
    def _read(cls, detail: str, subject: str, value: float) -> Mapping[str, Any]:
        del subject, value
        if detail == _OVER:
            return _ENDED
        use, space, line = detail.partition(" ")  # the syntax of earlier versions
        if use not in _LAYER_USES:
            return json_object(detail)
        return {"use": use, "line": line, "at_every_step": bool(space)}


@dataclass(frozen=True)
class UnmovedParameter(ObservationRecord):
    """A parameter that does not change although its gradients are large enough."""

    learning_rate: float | None = None  # None: unknown
    is_over: bool = False

    @classmethod
    def _read(cls, detail: str, subject: str, value: float) -> Mapping[str, Any]:
        del subject, value
        if detail == _OVER:
            return _ENDED
        try:
            return {"learning_rate": float(detail)}
        except ValueError:
            return json_object(detail)


@dataclass(frozen=True)
class KeptGradients(ObservationRecord):
    """Gradients of earlier steps that still exist when a backward pass begins."""

    sampled: int | None = keyed("of", None)  # parameters
    first: str = ""  # the first parameter with such a gradient


@dataclass(frozen=True)
class RefusedStep(ObservationRecord):
    """An optimizer step on non-finite gradients that was prevented."""

    parameters: tuple[str, ...] = ()  # the first ones with such gradients on this worker

    @classmethod
    def _read(cls, detail: str, subject: str, value: float) -> Mapping[str, Any]:
        del value
        names = subject.split(", ") if subject else []  # all that earlier versions recorded
        return json_object(detail) or {"parameters": names}


class TensorRole(StrEnum):
    """The place of a tensor in a step."""

    UNKNOWN = ""
    INPUT = "input"
    WEIGHT = "weight"
    OUTPUT = "output"
    LOSS = "loss"
    GRADIENT = "gradient"
    MODEL = "model"  # a whole model with finite inputs and weights


FINITE = "finite"  # the content of a next pass without a non-finite value


@dataclass(frozen=True)
class NonFiniteSource(ObservationRecord):
    """The first tensor of a step that is not finite."""

    content: str = keyed("found", "")  # `nan`, `inf` or `FINITE`
    role: TensorRole = field(default=TensorRole.UNKNOWN, metadata={"key": "in"})


@dataclass(frozen=True)
class DistinctUnits(ObservationRecord):
    """A sample of the rows of a weight; the value is the number of distinct ones."""

    units: int = 0


@dataclass(frozen=True)
class UnitActivity(ObservationRecord):
    """How often the units of a ReLU are nonzero."""

    # by percentage: units that are nonzero in at most that percentage of the samples
    inactive: Mapping[float, int] = field(default_factory=dict)
    samples: int = 0

    def inactive_below(self, percent: float) -> int | None:
        """Units that are nonzero in at most this percentage of the samples, or the nearest counted.

        None if nothing was counted.
        """
        below = [counted for counted in self.inactive if counted <= percent]
        nearest = max(below) if below else min(self.inactive, default=None)
        return None if nearest is None else self.inactive[nearest]
