"""All exceptions that Sonde raises, with one common base class.

A message is one line: what happened, with which value, and what to do.
"""

from collections.abc import Iterable
from difflib import get_close_matches

_MAX_NAMES = 8  # listed in a message


class SondeError(Exception):
    """Base class of all exceptions that Sonde raises on purpose."""


class UsageError(SondeError):
    """An invalid option, name or value."""


class JobNotFoundError(SondeError):
    """The store has no such job."""


class JobExistsError(SondeError):
    """Another job already uses the name."""


class JobNotRunningError(SondeError):
    """The job is not running, so it cannot receive a request."""


class JobEndedError(SondeError):
    """The job ended before the awaited condition was met."""


class WaitTimeoutError(SondeError, TimeoutError):
    """The timeout passed before the awaited condition was met."""


class StoreError(SondeError):
    """The store could not be read or written."""


class OutOfResourcesError(SondeError):
    """The command cannot be run as a child: the system is out of files, processes or memory."""


class NoSpaceError(StoreError):
    """The store's disk is full, in bytes or inodes."""


class KeyMissingError(StoreError):
    """The store has no such key."""


class DamagedError(StoreError):
    """The stored bytes differ from the bytes that were written."""


class FormatTooNewError(StoreError):
    """The data was written by a newer version of Sonde."""


class OutputError(SondeError):
    """Standard output cannot be written."""


class NothingToCollectError(SondeError):
    """This machine has nothing for a collector to measure; not a failure."""


class MissingExtraError(SondeError):
    """A feature needs a package that an optional extra installs."""


class ActionError(SondeError):
    """An action failed."""

    def __init__(
        self, message: str, *, is_final: bool = False, after_seconds: float | None = None
    ) -> None:
        """Describe the failure, whether a retry is pointless, and otherwise when to retry."""
        super().__init__(message)
        self.is_final = is_final
        self.after_seconds = after_seconds


class StoppedJobError(SystemExit):
    """The job is stopped for a reason; ends the process.

    Not a SondeError: a script that catches every exception would continue.
    """

    def __init__(self, reason: str, status: str = "job stopped") -> None:
        """Print the reason on standard error when the process ends."""
        super().__init__(f"sonde: {status}: {reason}")
        self.reason = reason


class RefusedStepError(StoppedJobError):
    """An optimizer step was blocked because it would have corrupted the weights."""

    def __init__(self, reason: str) -> None:
        """Print the reason on standard error when the process ends."""
        super().__init__(reason, "optimizer step blocked, job stopped")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A sentence that suggests the closest name; empty if none is close."""
    close = _closest(name, names)
    return f" Did you mean {close[0]!r}?" if close else ""


def known_names(name: str, candidates: Iterable[str]) -> str:
    """A suffix for "unknown name" messages: the closest name and a list of valid names."""
    names = sorted(set(candidates))
    if not names:
        return " None are available."
    first = dict.fromkeys((*_closest(name, names), *names))
    more = ", …" if len(names) > _MAX_NAMES else ""
    return f"{did_you_mean(name, names)} Available: {', '.join([*first][:_MAX_NAMES])}{more}"


def _closest(name: str, names: Iterable[str]) -> list[str]:
    """Similar names, and names that begin with this one; none for a pattern."""
    if "*" in name:
        return []
    candidates = list(names)
    longer = [each for each in candidates if each.startswith(f"{name}_") and name]
    return list(dict.fromkeys((*longer, *get_close_matches(name, candidates, n=_MAX_NAMES))))
