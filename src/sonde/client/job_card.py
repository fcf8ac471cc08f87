"""A job as a notebook shows it: where it stands, in figures."""

from collections.abc import Mapping
from typing import Any

from sonde.show.report.html import element
from sonde.show.report.tables import facts
from sonde.show.specs import Fact, Facts


def job_card(status: Mapping[str, Any]) -> str:
    """From the status document."""
    steps = ", ".join(f"{count:,} {mode}" for mode, count in status["steps"].items())
    found = [one for rule in status["rules"] for one in rule["findings"]]
    counts = [
        f"{number} {severity}"
        for severity in ("critical", "warning", "info")
        if (number := sum(one["severity"] == severity for one in found))
    ]
    told = [
        Fact(name="state", title="State", value=status["state"]),
        Fact(name="time", title="Duration", value=status["duration_seconds"], unit="seconds"),
        Fact(name="steps", title="Steps", value=steps or "none"),
        Fact(name="nodes", title="Nodes", value=len(status["nodes"])),
        Fact(name="workers", title="Workers", value=status["workers"]),
        Fact(name="findings", title="Findings", value=", ".join(counts) or "none"),
    ]
    return str(
        element("div", element("b", str(status["job"])), facts(Facts(title="", facts=tuple(told))))
    )
