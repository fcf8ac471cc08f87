"""HTTP error replies for Sonde's own exceptions."""

from sonde.drawing.printable import escape_text
from sonde.errors import (
    JobExistsError,
    JobNotFoundError,
    JobNotRunningError,
    KeyMissingError,
    SondeError,
    StoreError,
    UsageError,
)
from sonde.web.error_texts import without_paths
from sonde.web.replies import Reply, error_reply

_STATUSES: tuple[tuple[type[SondeError], int], ...] = (
    (JobNotFoundError, 404),
    (KeyMissingError, 404),
    (JobNotRunningError, 409),
    (JobExistsError, 409),
    (UsageError, 400),
    (StoreError, 503),
)


def exception_reply(error: SondeError, store: str) -> Reply:
    """The error as a reply, with the status of its type and without paths of the server."""
    status = next((code for kind, code in _STATUSES if isinstance(error, kind)), 400)
    return error_reply(escape_text(without_paths(str(error), store)), status)
