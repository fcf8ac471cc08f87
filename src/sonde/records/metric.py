"""Metrics of a machine and the series they come in."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """What a metric means; travels with the data, so that readers need no central list."""

    name: str
    unit: str
    help: str


@dataclass(frozen=True, slots=True)
class Series:
    """A metric of one device; the device is empty where the whole node is meant."""

    metric: MetricInfo
    device: str = ""

    @property
    def key(self) -> str:
        """The one name of this series in files: metric, slash, device."""
        return f"{self.metric.name}/{self.device}" if self.device else self.metric.name
