"""Format version and schemas of all record families.

A family is a kind of record with its columns. System samples are a matrix (one column per series);
all others are rows.
"""

from dataclasses import dataclass

from sonde.errors import FormatTooNewError
from sonde.records.notice import NoticeKind

FORMAT_VERSION = 1

# What a column holds, as a type code of the standard library's `array`; "s" is text.
INTEGER, REAL, SINGLE, TEXT = "q", "d", "f", "s"


def refuse_newer_format(version: int, key: str) -> None:
    """Raise FormatTooNewError if the data was written by a newer version."""
    if version > FORMAT_VERSION:
        raise FormatTooNewError(
            f"{key} has format {version}; this version of Sonde reads up to {FORMAT_VERSION}. "
            "Upgrade with: pip install -U sonde"
        )


@dataclass(frozen=True)
class Family:
    """One kind of record: its name in paths and, for rows, its columns in order."""

    name: str
    label: str  # for messages
    columns: tuple[tuple[str, str], ...] = ()
    time_column: str = "time_ns"
    step_column: str | None = None
    loss_kind: NoticeKind = NoticeKind.LOST  # of a notice about lost records

    @property
    def is_matrix(self) -> bool:
        """Whether segments define their columns: one per series."""
        return not self.columns


SYSTEM = Family("system", "system samples")

EVENTS = Family(
    "events",
    "events",
    (
        ("name", TEXT),
        ("category", TEXT),
        ("lane", TEXT),
        ("start_ns", INTEGER),
        ("duration_ns", INTEGER),
        ("step", INTEGER),
        ("mode", TEXT),
        ("detail", TEXT),
    ),
    time_column="start_ns",
    step_column="step",
    loss_kind=NoticeKind.LOST_STEPS,
)

SCALARS = Family(
    "scalars",
    "scalars",
    (
        ("name", TEXT),
        ("time_ns", INTEGER),
        ("step", INTEGER),
        ("mode", TEXT),
        ("value", REAL),
        ("source", TEXT),
    ),
    step_column="step",
)

STATISTICS = Family(
    "statistics",
    "tensor statistics",
    (
        ("name", TEXT),
        ("time_ns", INTEGER),
        ("step", INTEGER),
        ("mode", TEXT),
        ("count", INTEGER),
        ("nans", INTEGER),
        ("infinities", INTEGER),
        ("zeros", INTEGER),
        ("minimum", REAL),
        ("maximum", REAL),
        ("absolute_minimum", REAL),
        ("sum", REAL),
        ("sum_of_squares", REAL),
        ("sum_of_absolutes", REAL),
        ("histogram", TEXT),
    ),
    step_column="step",
)

OBSERVATIONS = Family(
    "observations",
    "observations",
    (
        ("kind", TEXT),
        ("subject", TEXT),
        ("time_ns", INTEGER),
        ("step", INTEGER),
        ("mode", TEXT),
        ("value", REAL),
        ("detail", TEXT),
    ),
    step_column="step",
)

# Profiled operations; their steps and phases are the events of the same time.
OPERATIONS = Family(
    "operations",
    "operations",
    (
        ("name", TEXT),
        ("category", TEXT),
        ("lane", TEXT),  # thread or stream; operations of a lane nest
        ("device", TEXT),
        ("start_ns", INTEGER),
        ("duration_ns", INTEGER),
        ("self_ns", INTEGER),  # without nested operations of the same lane
        ("correlation", INTEGER),  # shared by a driver call and the operation it launched
        ("module", TEXT),
        ("detail", TEXT),
    ),
    time_column="start_ns",
)

FINDINGS = Family(
    "findings",
    "findings",
    (
        ("time_ns", INTEGER),
        ("rule", TEXT),
        ("severity", TEXT),
        ("message", TEXT),
        ("record", TEXT),
    ),
)

LOGS = Family(
    "logs",
    "output lines",
    (
        ("time_ns", INTEGER),
        ("step", INTEGER),
        ("mode", TEXT),
        ("stream", TEXT),
        ("text", TEXT),
    ),
    step_column="step",
)

NOTICES = Family(
    "notices",
    "notices",
    (
        ("kind", TEXT),
        ("what", TEXT),
        ("reason", TEXT),
        ("start_ns", INTEGER),
        ("end_ns", INTEGER),
    ),
    time_column="start_ns",
)

FAMILIES = {
    family.name: family
    for family in (
        *(SYSTEM, EVENTS, SCALARS, STATISTICS, OBSERVATIONS),
        *(OPERATIONS, FINDINGS, NOTICES, LOGS),
    )
}
