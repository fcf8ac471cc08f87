"""A private page that redirects to the dashboard, to keep its token out of command lines.

Every user of a machine can see the arguments of processes, including the URL that a browser opens.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path


@contextlib.contextmanager
def link_file(address: str) -> Iterator[str]:
    """The URL of a private page that redirects to an address; removed on exit."""
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
