"""The output of `sonde compare`."""

from collections.abc import Iterator
from itertools import groupby

from rich.text import Text

from sonde.formats import format_duration, pluralize
from sonde.results.comparison import JobComparison
from sonde.results.setting_differences import SettingDifference
from sonde.terminal.styles import QUIET
from sonde.terminal.tables import table

_MAX_PACKAGES = 10  # of a section: two machines can differ in hundreds
_NONE = "–"


def comparison_lines(comparison: JobComparison) -> Iterator[Text]:
    """Speed and divergence in words, then the key figures, step times and settings."""
    yield from (Text(sentence) for sentence in comparison.sentences)
    yield Text()
    title, *lines = repr(comparison).splitlines()
    yield Text(title, QUIET)
    yield from map(Text, lines)
    for index, name in enumerate(comparison.names[1:], 1):
        yield from _step_time(comparison, index, name)
    yield Text()
    differences = comparison.differences
    if not differences:
        yield Text("Command, commit, packages, environment and machine are the same.")
    for section, rows in groupby(differences, key=lambda row: row.section):
        yield from _settings(section, list(rows), comparison.names)


def _step_time(comparison: JobComparison, index: int, name: str) -> Iterator[Text]:
    rows = comparison.step_time(index)
    if not rows:
        return
    yield Text()
    titles = ("mean step time after warm-up", comparison.names[0], name, "change", "")
    cells = [
        (
            row.phase.replace("_", " "),
            format_duration(row.seconds.first),
            format_duration(row.seconds.second),
            row.change_text,
            "" if row.seconds.is_significant else "within noise",
        )
        for row in rows
    ]
    yield from table([titles, *cells], left_columns=1, is_last_left=True)


def _settings(
    section: str, rows: list[SettingDifference], names: tuple[str, ...]
) -> Iterator[Text]:
    """The differing settings of a section, one value per line: they can be long."""
    yield Text(section, QUIET)
    width = max(map(len, names))
    for row in rows[:_MAX_PACKAGES]:
        yield Text(f"  {row.name}")
        for name, value in zip(names, row.values, strict=True):
            yield Text(f"    {name:<{width}}  {_NONE if value is None else value}")
    if len(rows) > _MAX_PACKAGES:
        more = pluralize(len(rows) - _MAX_PACKAGES, "more difference")
        yield Text(f"  … and {more}: --json lists all", QUIET)
