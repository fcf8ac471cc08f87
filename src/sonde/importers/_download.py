"""Recordings in an object store: downloaded to a temporary folder before the import."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from sonde.errors import SondeError, UsageError
from sonde.formats import pluralize
from sonde.store.backends import Backend, Entry, open_backend

_DOWNLOADS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Location:
    """A recording: the path or URI that the user specified, and its local path."""

    text: str
    path: Path
    folder: Path | None = None  # temporary

    def shown(self, message: str) -> str:
        """A message that names the recording as the user specified it."""
        if self.folder is None:
            return message
        return message.replace(str(self.path), self.text)


@contextlib.contextmanager
def local_recording(text: str, is_needed: Callable[[str], bool]) -> Iterator[Location]:
    """Make a recording available as a local path.

    Args:
        text: A path, or a URI such as `s3://bucket/job/debug-output`.
        is_needed: Which objects under a URI to download, by their keys.

    Raises:
        UsageError: The object store has no such object or prefix.
    """
    if "://" not in text:
        path = Path(text).expanduser().absolute()
        yield Location(str(path), path)
        return
    with tempfile.TemporaryDirectory(prefix="sonde-import-") as name:
        uri = text.rstrip("/")
        path = Path(name) / (PurePosixPath(uri).name or "recording")
        location = Location(uri, path, Path(name))
        _download(location, is_needed)
        try:
            yield location
        except SondeError as error:
            raise type(error)(location.shown(str(error))) from error


def _download(location: Location, is_needed: Callable[[str], bool]) -> None:
    """Download the object, or the needed ones under the prefix."""
    backend, target = open_backend(location.text), location.path
    all_entries = backend.entries("")
    entries = [entry for entry in all_entries if is_needed(entry.key)]
    if all_entries and not entries:
        count = pluralize(len(all_entries), "object")
        raise UsageError(f"{location.text} has no recording of this kind in {count}.")
    if not entries:
        parent, _, key = location.text.rpartition("/")
        backend, target = open_backend(parent), location.path.parent
        entries = [entry for entry in backend.entries("") if entry.key == key]
    if not entries:
        raise UsageError(f"{location.text} does not exist.")
    with ThreadPoolExecutor(_DOWNLOADS_AT_ONCE) as pool:
        list(pool.map(partial(_save, backend, target), entries))


def _save(backend: Backend, folder: Path, entry: Entry) -> None:
    """Save one object with its modification time; never outside of the folder."""
    path = folder / entry.key
    if ".." in PurePosixPath(entry.key).parts or PurePosixPath(entry.key).is_absolute():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(backend.read(entry.key))
    os.utime(path, ns=(entry.modified_ns, entry.modified_ns))
