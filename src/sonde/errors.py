"""Every exception Sonde raises, under one root.

A message says what happened, with which value, and the way out, in one line.
"""

from collections.abc import Iterable
from difflib import get_close_matches

_FEW = 8  # names that are told, of many


class SondeError(Exception):
    """The root: whatever Sonde raises on purpose is one of these."""


class UsageError(SondeError):
    """The caller asked for something that cannot be: a bad option, name or value."""


class JobNotFoundError(SondeError):
    """There is no such job in the store."""


class JobExistsError(SondeError):
    """The name is taken by another job."""


class JobNotRunningError(SondeError):
    """A request was made to a job that is not there to answer it."""


class JobOverError(SondeError):
    """The job is over, and what was waited for has not come."""


class WaitedTooLongError(SondeError, TimeoutError):
    """What was waited for has not come in time."""


class StoreError(SondeError):
    """The store could not be read or written."""


class NotFollowedError(SondeError):
    """The system lacks what it takes to run a command as our child: files, processes, memory."""


class NoSpaceError(StoreError):
    """The disk of the store is full, in bytes or in inodes."""


class KeyMissingError(StoreError):
    """The store holds nothing under that key."""


class DamagedError(StoreError):
    """Bytes were read that are not the bytes that were written."""


class FormatTooNewError(StoreError):
    """The data was written by a newer Sonde than this one."""


class OutputError(SondeError):
    """Standard output does not take what we print."""


class NothingToCollectError(SondeError):
    """This machine has no such thing: said once by a collector when it opens, not a failure."""


class MissingExtraError(SondeError):
    """A part needs a package that an optional extra installs."""


class ActionError(SondeError):
    """What was to follow a finding could not be done."""

    def __init__(
        self, message: str, *, is_final: bool = False, after_seconds: float | None = None
    ) -> None:
        """Says what went wrong, whether trying again is of no use, and else when."""
        super().__init__(message)
        self.is_final = is_final
        self.after_seconds = after_seconds


class StoppedJobError(SystemExit):
    """The job is stopped, for a reason; ends the process.

    Not under the root: a script that catches every exception would go on as if nothing were wrong.
    """

    def __init__(self, reason: str, said: str = "the job is stopped") -> None:
        """Says on standard error why the process ends."""
        super().__init__(f"sonde: {said}: {reason}")
        self.reason = reason


class RefusedStepError(StoppedJobError):
    """An optimizer was kept from a step that would have spoiled the weights."""

    def __init__(self, reason: str) -> None:
        """Says on standard error why the process ends."""
        super().__init__(reason, "the optimizer has not stepped, the job is stopped")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that follows a sentence, with the closest known name; "" where none is close."""
    close = _closest(name, known)
    return f" Did you mean {close[0]!r}?" if close else ""


def known_names(name: str, known: Iterable[str]) -> str:
    """What follows the sentence that a name is unknown: the closest one, and some there are."""
    names = sorted(set(known))
    if not names:
        return " There is none."
    first = dict.fromkeys((*_closest(name, names), *names))
    more = ", …" if len(names) > _FEW else ""
    return f"{did_you_mean(name, names)} Known: {', '.join([*first][:_FEW])}{more}"


def _closest(name: str, known: Iterable[str]) -> list[str]:
    """Names that may have been meant; of a pattern, none."""
    return [] if "*" in name else get_close_matches(name, known, n=_FEW)
