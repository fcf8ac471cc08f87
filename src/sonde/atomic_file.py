"""Files that are replaced atomically."""

import gzip
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from sonde.errors import StoreError

_COMPRESSED = ".gz"


def write_atomically(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Write a file atomically; a name that ends in `.gz` is compressed."""
    path = path.resolve()  # write the target of a link, not the link
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        # write directly to a pipe or device
        target = path if path.exists() and not path.is_file() else temporary
        with target.open("wb") as sink:
            _write(sink, write, is_compressed=path.suffix == _COMPRESSED)
        if target is temporary:
            temporary.replace(path)
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def _write(sink: BinaryIO, write: Callable[[BinaryIO], None], *, is_compressed: bool) -> None:
    if not is_compressed:
        write(sink)
        return
    with gzip.GzipFile(fileobj=sink, mode="wb", compresslevel=6, mtime=0) as packed:
        write(cast("BinaryIO", packed))
