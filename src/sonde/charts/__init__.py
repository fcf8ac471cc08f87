"""Charts as data, one file each, for the dashboard, the report and notebooks."""

from sonde.charts._chart import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.charts._illustrations import charts_for_rule, key_charts
from sonde.plugins import Slot

__all__ = [
    "CHARTS",
    "Chart",
    "ChartSize",
    "OverviewPlace",
    "OverviewSection",
    "charts_for_rule",
    "key_charts",
]

CHARTS = Slot("sonde.charts", Chart)
