"""A page that leads to the dashboard, so that its token stands in no command line.

A browser is started with what it shall open as an argument, which every user of the machine can
see. The name of a file that only its owner can read tells them nothing.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path


@contextlib.contextmanager
def link_file(address: str) -> Iterator[str]:
    """The URL of a private page that leads to an address; the page is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="sonde-open-") as folder:
        page = Path(folder, "open.html")
        page.touch(mode=0o600)
        link = escape(address)
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><title>Sonde</title>'
            f'<meta http-equiv="refresh" content="0;url={link}">'
            f'<a href="{link}">Continue to the dashboard</a>',
            encoding="utf-8",
        )
        yield page.as_uri()
