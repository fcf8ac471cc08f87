"""What `run` and `attach` share: how a recording is set on the command line."""

from dataclasses import replace

from sonde.cli._command import Options
from sonde.settings import RunSettings, parse_interval


def with_options(settings: RunSettings, options: Options) -> RunSettings:
    """The settings with the options on top that were given."""
    interval = options.interval
    given = {
        "name": options.name,
        "store": options.store,
        "interval_seconds": None if interval is None else parse_interval(interval, "--interval"),
    }
    return replace(settings, **{key: value for key, value in given.items() if value is not None})
