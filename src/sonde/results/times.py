"""Times in queries."""

from datetime import UTC, datetime

from sonde.clock import NANOSECONDS, from_iso
from sonde.errors import UsageError

Moment = datetime | str | float | int | None


def instant_of(moment: Moment, start_ns: int) -> int | None:
    """Convert a time to nanoseconds since the epoch; None means no limit.

    Args:
        moment: A date and time, an ISO text, or seconds since the job began.
        start_ns: Start of the job.
    """
    if moment is None:
        return None
    if isinstance(moment, str):
        try:
            return from_iso(moment)
        except ValueError as error:
            raise UsageError(
                f"Invalid time {moment!r}. Use a string such as 2026-08-01T12:30:00Z, a datetime, "
                "or seconds since the start of the job."
            ) from error
    if isinstance(moment, datetime):
        return from_iso(moment.astimezone(UTC).isoformat())
    return start_ns + int(moment * NANOSECONDS)
