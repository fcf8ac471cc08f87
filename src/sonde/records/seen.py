"""What of a job was seen from inside its training processes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """Which framework a job uses, and whether its training steps were recorded."""

    framework: str | None = None  # such as `torch 2.13`
    inside: bool = False
    why_not: str | None = None  # None too where there is nothing to see: no framework was imported
