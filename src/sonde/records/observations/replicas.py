"""What state checks observe about models that should be equal on all workers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonde.records.observations.observation_record import ObservationRecord, json_object

_WRAPPED = "wrapped"  # first word of the fingerprint details of earlier versions


@dataclass(frozen=True)
class ReplicaChecksum(ObservationRecord):
    """A checksum of all parameters of a model."""

    checksum: str = ""  # in hexadecimal
    is_wrapped: bool = False  # to be identical on all workers

    @classmethod
    def _read(cls, detail: str, subject: str, value: float) -> Mapping[str, Any]:
        del subject
        if detail.startswith("{"):
            return json_object(detail)
        return {"checksum": detail, "is_wrapped": value == 1}


@dataclass(frozen=True)
class ReplicaFingerprint(ObservationRecord):
    """Which bytes of a model its fingerprint is computed from; the value is the fingerprint.

    Only fingerprints of the same parameters can be compared.
    """

    parameters: tuple[int, ...] = ()  # their indices in the model
    is_wrapped: bool = False  # to be identical on all workers

    @classmethod
    def _read(cls, detail: str, subject: str, value: float) -> Mapping[str, Any]:
        del subject, value
        words = detail.split()
        is_wrapped = words[:1] == [_WRAPPED]
        numbers = words[1:] if is_wrapped else words
        if not all(number.isdecimal() for number in numbers):
            return json_object(detail)
        return {"parameters": [int(number) for number in numbers], "is_wrapped": is_wrapped}
