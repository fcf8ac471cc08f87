"""Read the targets of symbolic links."""

import os


def read_link(path: str) -> str:
    """The target of a link; empty if it cannot be read.

    Returned as text: links in /proc may not name a file, and reading must be fast.
    """
    try:
        return os.readlink(path)  # noqa: PTH115 — see above
    except OSError:
        return ""
