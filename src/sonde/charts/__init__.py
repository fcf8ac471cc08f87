"""Charts as data, one file each, for the dashboard, the report and notebooks."""

from sonde.charts._chart import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.plugins import Slot

__all__ = ["CHARTS", "Chart", "ChartSize", "OverviewPlace", "OverviewSection"]

CHARTS = Slot("sonde.charts", Chart)
