"""Where a symbolic link leads, as the system states it."""

import os


def read_link(path: str) -> str:
    """The text of a link; empty where it cannot be read.

    Not as a path: links of /proc lead to what is no file, and are read for every file we open.
    """
    try:
        return os.readlink(path)  # noqa: PTH115 — see above
    except OSError:
        return ""
