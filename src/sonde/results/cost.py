"""The cost of a job as text."""

from collections.abc import Iterator

from sonde.formats import format_value
from sonde.records.cost import JobCost


def cost_text(cost: JobCost | None) -> str:
    """GPU time, energy and price; empty without GPUs."""
    if cost is None:
        return ""
    return ", ".join(
        (f"{format_value(cost.gpu_hours, 'gpu_hours')} of GPU time", *money_and_energy(cost))
    )


def money_and_energy(cost: JobCost | None) -> Iterator[str]:
    """Energy and price, as far as they are known."""
    if cost is None:
        return
    if cost.watt_hours is not None:
        is_large = cost.watt_hours >= 1000
        scale, unit = (1000, "kWh") if is_large else (1, "Wh")
        yield format_value(cost.watt_hours / scale, unit)
    if cost.price is not None:
        yield f"price {cost.price:,.2f}"
