"""Pictures as data: one file per chart, for the dashboard, the report and notebooks."""

from sonde.charts._chart import Chart
from sonde.plugins import Slot

__all__ = ["CHARTS", "Chart"]

CHARTS = Slot("sonde.charts", Chart)
