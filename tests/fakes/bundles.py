"""Read the data of pages written by `sonde bundle`."""

import json
import re
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any


def read_bundle(page: Path) -> dict[str, Any]:
    """Return the data block of a page."""
    match = re.search(r'data-spec="bundle">(.*?)</script>', page.read_text(), re.DOTALL)
    assert match is not None
    document: dict[str, Any] = json.loads(match[1])
    return document


def body_of(entry: dict[str, Any]) -> bytes:
    """Return the uncompressed reply of an entry."""
    return zlib.decompress(b64decode(entry["data"]))


def replies_to(document: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """Return the entries of a path."""
    return [entry for entry in document["replies"] if entry["path"] == path]
