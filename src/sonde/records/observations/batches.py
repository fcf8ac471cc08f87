"""What state checks observe about the samples, labels and predictions of a batch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sonde.records.observations.observation_record import ObservationRecord, json_object, keyed


@dataclass(frozen=True)
class InputSizeChange(ObservationRecord):
    """The size of training samples before it changed."""

    before: int = 0  # elements per sample


@dataclass(frozen=True)
class LossInput(ObservationRecord):
    """The predictions that a loss function is called with."""

    rows: int = 0
    classes: int = 0
    operation: str = keyed("by", "")  # that produced them; empty if unknown


@dataclass(frozen=True)
class ImageChannels(ObservationRecord):
    """Statistics of the image channels that go into a model."""

    means: tuple[float, ...] = ()
    stds: tuple[float, ...] = ()


@dataclass(frozen=True)
class TokenCounts(ObservationRecord):
    """The most frequent tokens that go into an embedding."""

    counts: Mapping[int, int] = field(default_factory=dict)  # by token


@dataclass(frozen=True)
class ClassHits(ObservationRecord):
    """Predictions by class."""

    # by label: the number of correct and of incorrect predictions
    counts: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def _facts(self) -> Mapping[str, Any]:
        return self.counts

    @classmethod
    def _read(cls, detail: str, subject: str, value: float) -> Mapping[str, Any]:
        del subject, value
        return {"counts": json_object(detail)}


@dataclass(frozen=True)
class LabelCounts(ObservationRecord):
    """How often each label occurred."""

    counts: Mapping[str, int] = field(default_factory=dict)  # by label

    def _facts(self) -> Mapping[str, Any]:
        return self.counts

    @classmethod
    def _read(cls, detail: str, subject: str, value: float) -> Mapping[str, Any]:
        del subject, value
        return {"counts": json_object(detail)}


@dataclass(frozen=True)
class EvaluatedSamples(ObservationRecord):
    """The samples of an evaluation, and how many of them were trained on before."""

    samples: int = 0  # distinct
    known: int = 0  # trained on before
    repeated: int = 0  # more frequent than the others
    pairs: int = 0  # of samples of one batch
    mixed: int = 0  # pairs of which one sample is known
    trained: int = 0  # distinct training samples
    trained_rows: int = keyed("rows", 0)  # trained on since the last evaluation
    trained_again: int = keyed("again", 0)  # of these, known before
    is_training_data: bool = False  # the data set also feeds training

    @property
    def known_share(self) -> float:
        """The share of samples that were trained on before."""
        return self.known / max(1, self.samples)


@dataclass(frozen=True)
class MeansOfBatches(ObservationRecord):
    """The means of consecutive batches."""

    # relative to the first batches, in units of the spread within a batch
    means: tuple[float, ...] = ()
    within: float = 0.0  # the variance within batches, in that unit
    rough: float = 0.0  # of differences between consecutive rows: 1 if rows are unordered
    size: int = 0  # rows of a batch
