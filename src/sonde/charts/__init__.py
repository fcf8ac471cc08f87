"""Charts as data, one file each, for the dashboard, the report and notebooks."""

from sonde.charts._chart import Chart
from sonde.plugins import Slot

__all__ = ["CHARTS", "Chart"]

CHARTS = Slot("sonde.charts", Chart)
