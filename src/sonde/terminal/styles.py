"""Colors (of the terminal's sixteen) and column widths."""

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
_SEVERITIES = {"critical": "red", "warning": "yellow", "info": QUIET}
_NEARLY_FULL_PERCENT = 85.0
_FULL_PERCENT = 95.0


def state_style(state: str) -> str:
    """The color of a job's state."""
    return _STATES.get(state, "")


def severity_style(severity: str) -> str:
    """The color of a finding's severity."""
    return _SEVERITIES[severity]


def fullness(percent: float | None, default: str) -> str:
    """A warning color if a resource is nearly full."""
    if percent is None or percent < _NEARLY_FULL_PERCENT:
        return default
    return "red" if percent >= _FULL_PERCENT else "yellow"
