"""What a job costs: GPU time, energy and money."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JobCost:
    """GPU time, energy and price; None where it is not known."""

    gpu_hours: float
    watt_hours: float | None = None  # of the GPUs
    price: float | None = None  # in the currency of the price per GPU-hour

    def share(self, share: float) -> "JobCost":
        """A share of the cost."""
        energy = None if self.watt_hours is None else share * self.watt_hours
        price = None if self.price is None else share * self.price
        return JobCost(share * self.gpu_hours, energy, price)
