"""Pictures as data: one file per chart, for the dashboard, the report and notebooks."""

from sonde.plugins import Slot
from sonde.show.charts._chart import Chart

__all__ = ["CHARTS", "Chart"]

CHARTS = Slot("sonde.show.charts", Chart)
