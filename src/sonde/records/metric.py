"""System metrics and their series."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """The unit and description of a metric; stored with the data, so readers need no registry."""

    name: str
    unit: str
    help: str


@dataclass(frozen=True, slots=True)
class Series:
    """A metric of one device, or of the whole node if the device is empty."""

    metric: MetricInfo
    device: str = ""

    @property
    def key(self) -> str:
        """The name of this series in files: `metric/device`."""
        return f"{self.metric.name}/{self.device}" if self.device else self.metric.name
