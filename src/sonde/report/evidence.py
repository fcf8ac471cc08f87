"""The evidence of a finding as text; the unit of a number is the suffix of its name.

The dashboard has the same functions in `ui/src/evidence.ts`.
"""

import json
from collections.abc import Mapping
from typing import Any

from sonde.formats import UNKNOWN, format_value

_UNITS = ("bytes_per_second", "percent", "seconds", "bytes", "celsius", "watts", "mhz")
_GPU_HOURS = "gpu_hours"  # shown as a duration
_MAX_ITEMS = 8


def evidence_lines(evidence: Mapping[str, Any]) -> list[str]:
    """A line for each value: its label and the value with its unit."""
    labels = [label_and_unit(name)[0] for name in evidence]
    lines = []
    for name, value in evidence.items():
        label, unit = label_and_unit(name)
        if labels.count(label) > 1:
            label = name.replace("_", " ")
        lines.append(f"{label}: {value_text(value, unit)}")
    return lines


def label_and_unit(name: str) -> tuple[str, str]:
    """Split a name such as `lost_percent` into a label and a unit."""
    if _GPU_HOURS in name:
        return name.replace(_GPU_HOURS, "GPU time").replace("_", " "), _GPU_HOURS
    default = "seconds" if name.startswith("seconds_") else ""
    unit = next((unit for unit in _UNITS if name.endswith(f"_{unit}")), default)
    return name.removesuffix(f"_{unit}").replace("_", " "), unit


def value_text(value: Any, unit: str) -> str:
    """A JSON value as text."""
    if value is None or isinstance(value, bool):
        return {None: UNKNOWN, True: "yes", False: "no"}[value]
    if isinstance(value, int | float):
        return format_value(value, unit)
    if isinstance(value, list | tuple):
        items = ", ".join(value_text(item, unit) for item in value[:_MAX_ITEMS])
        more = len(value) - _MAX_ITEMS
        return f"{items} and {more} more" if more > 0 else items or UNKNOWN
    return json.dumps(value) if isinstance(value, dict) else str(value)
