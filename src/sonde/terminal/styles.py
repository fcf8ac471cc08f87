"""Which of the terminal's sixteen colours means what, and the widths that lines share."""

CPU = "cyan"
GPU = "green"
MEMORY = "blue"
QUIET = "dim"

LABEL = 9  # columns
PERCENT = 6

_STATES = {
    "starting": "cyan",
    "running": "cyan",
    "completed": "green",
    "failed": "bold red",
    "lost": "bold red",
    "stopped": "yellow",
    "ended": "green",
}
_NEARLY_FULL_PERCENT = 85.0
_FULL_PERCENT = 95.0


def state_style(state: str) -> str:
    """The colour of a job's state."""
    return _STATES.get(state, "")


def fullness(percent: float | None, usual: str) -> str:
    """A warning colour for what is running out."""
    if percent is None or percent < _NEARLY_FULL_PERCENT:
        return usual
    return "red" if percent >= _FULL_PERCENT else "yellow"
