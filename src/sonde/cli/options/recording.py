"""Options for what is recorded and reported."""

import argparse
from dataclasses import replace

from sonde.cli._command import Options
from sonde.settings import RunSettings, parse_interval, price


def add_no_report(parser: argparse.ArgumentParser) -> None:
    """Add --no-report."""
    parser.add_argument(
        "--no-report", action="store_true", help="do not write a report automatically"
    )


def add_price(parser: argparse.ArgumentParser) -> None:
    """Add --price-per-gpu-hour."""
    parser.add_argument(
        "--price-per-gpu-hour",
        metavar="PRICE",
        type=lambda text: price(text, "--price-per-gpu-hour"),
        help="shows the price of the job and of each finding, in any currency",
    )


def with_options(settings: RunSettings, options: Options) -> RunSettings:
    """Override the settings with the options."""
    interval = options.interval
    if options.no_report:
        actions = replace(settings.actions, rewrites_report=False)
        settings = replace(settings, report_at_end=False, actions=actions)
    overrides = {
        "name": options.name,
        "store": options.store,
        "price_per_gpu_hour": options.price_per_gpu_hour,
        "interval_seconds": None if interval is None else parse_interval(interval, "--interval"),
    }
    return replace(
        settings, **{key: value for key, value in overrides.items() if value is not None}
    )
