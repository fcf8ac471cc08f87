"""Moments as people name them."""

from datetime import UTC, datetime

from sonde.clock import NANOSECONDS, from_iso
from sonde.errors import UsageError

Moment = datetime | str | float | int | None


def instant_of(moment: Moment, start_ns: int) -> int | None:
    """A moment on the job's time line; None is open.

    Args:
        moment: A date and time, an ISO text, or seconds since the job began.
        start_ns: When the job began.
    """
    if moment is None:
        return None
    if isinstance(moment, str):
        try:
            return from_iso(moment)
        except ValueError as error:
            raise UsageError(
                f"{moment!r} is not a time. Write it like 2026-08-01T12:30:00Z, as a datetime, "
                "or as seconds since the job began."
            ) from error
    if isinstance(moment, datetime):
        return from_iso(moment.astimezone(UTC).isoformat())
    return start_ns + int(moment * NANOSECONDS)
