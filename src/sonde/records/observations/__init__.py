"""What state checks observe: one record per kind of observation, stored in its detail.

A state check stores `record.encode()`; a rule reads `RecordClass.of(observation)`.
A kind whose subject and value say everything has no record.
"""

from sonde.records.observations.observation_record import ObservationRecord, keyed

__all__ = ["ObservationRecord", "keyed"]
