"""What was recorded inside a job's training processes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """The framework a job uses, and whether its training steps were recorded."""

    framework: str | None = None  # such as `torch 2.13`
    inside: bool = False
    why_not: str | None = None  # also None if no framework was imported
