"""A store in a folder of this machine, or of a file system it shares: a path or `file://…`."""

import contextlib
import errno
import mmap
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sonde.clock import NANOSECONDS
from sonde.errors import KeyMissingError, StoreError, UsageError
from sonde.store.backends._backend import Backend, Entry

# What file systems answer that know no links, FUSE among them.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


# How `_write_beside` names its copies, and when nobody can be at one any more.
_TEMPORARY = re.compile(r"\..+\.\d+-[0-9a-f]{8}")
_HALF_WRITTEN_SECONDS = 3600


class Local(Backend):
    """Files in a folder. Documents are replaced whole; segments grow at their end."""

    flush_seconds = 2.0
    poll_seconds = 0.25

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._root = Path(_path_in(uri)).expanduser().absolute()

    def read(self, key: str, start: int = 0, end: int | None = None) -> bytes:
        try:
            with self._path(key).open("rb") as file:
                if start:
                    file.seek(start)
                return file.read() if end is None else file.read(max(end - start, 0))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            raise KeyMissingError(f"There is no {key} in {self.uri}") from error
        except OSError as error:
            raise self._store_error("read", key, error) from error

    def write(self, key: str, data: bytes) -> None:
        self.write_parts(key, [data])

    def write_parts(self, key: str, parts: Sequence[bytes | memoryview]) -> None:
        temporary = self._write_beside(key, parts)
        try:
            temporary.replace(self._path(key))
        except OSError as error:
            _discard(temporary)
            raise self._store_error("write", key, error) from error

    def create(self, key: str, data: bytes) -> bool:
        temporary = self._write_beside(key, [data])
        try:
            # a link fails where the name exists: whole or not at all, and only the first wins
            self._path(key).hardlink_to(temporary)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise self._store_error("write", key, error) from error
            return self._create_without_links(key, data)
        finally:
            _discard(temporary)
        return True

    def append(self, key: str, offset: int, data: bytes) -> None:
        path = self._path(key)
        try:
            if offset == 0:
                path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(
                path, os.O_WRONLY | os.O_CLOEXEC | (os.O_CREAT if offset == 0 else 0), 0o666
            )
            try:
                # at its own offset, so that a write cut short by a full disk is simply made again
                written = 0
                while written < len(data):
                    written += os.pwrite(file, data[written:], offset + written)
            finally:
                os.close(file)
        except FileNotFoundError as error:
            raise KeyMissingError(f"{key} has vanished from {self.uri}") from error
        except OSError as error:
            raise self._store_error("write", key, error) from error

    def entries(self, folder: str) -> list[Entry]:
        try:
            return sorted(self._walk(self._path(folder)), key=lambda entry: entry.key)
        except OSError as error:
            raise self._store_error("list", folder, error) from error

    def folders(self, folder: str) -> list[str]:
        try:
            with os.scandir(self._path(folder)) as found:
                return sorted(item.name for item in found if item.is_dir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise self._store_error("list", folder, error) from error

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            path = self._path(key)
            try:
                path.unlink(missing_ok=True)
                self._remove_empty_parents(path)
            except (IsADirectoryError, NotADirectoryError):  # a folder, or below a key: no such key
                continue
            except OSError as error:
                raise self._store_error("delete", key, error) from error

    def erase(self) -> None:
        super().erase()
        self._remove_temporary_files(float("inf"))
        for folder in sorted(self._root.rglob("*"), reverse=True):
            if folder.is_dir() and not folder.is_symlink():
                _remove_if_empty(folder)
        _remove_if_empty(self._root)

    def sweep(self, now_ns: int) -> None:
        self._remove_temporary_files(now_ns - _HALF_WRITTEN_SECONDS * NANOSECONDS)

    def view(self, key: str) -> memoryview:
        try:
            with self._path(key).open("rb") as file:
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except FileNotFoundError as error:
            raise KeyMissingError(f"There is no {key} in {self.uri}") from error
        except (OSError, ValueError):  # an empty file, or a file system that cannot map
            return memoryview(self.read(key))

    def free_bytes(self) -> int | None:
        status = self._usage()
        return status.free if status else None

    def size_bytes(self) -> int | None:
        status = self._usage()
        return status.total if status else None

    def exists(self, key: str) -> bool:
        try:
            return self._path(key).is_file()
        except OSError as error:
            raise self._store_error("read", key, error) from error

    def _path(self, key: str) -> Path:
        """The file of a key; a key from a hostile store leads nowhere outside of it."""
        if key.startswith("/") or ".." in key.split("/"):
            raise StoreError(f"{key!r} is not a key of {self.uri}")
        return self._root / key

    def _usage(self) -> "shutil._ntuple_diskusage | None":
        for place in (self._root, *self._root.parents):
            try:
                return shutil.disk_usage(place)
            except OSError:  # the folder is not made yet, or was removed: ask for its parent
                continue
        return None

    def _walk(self, folder: Path) -> Iterator[Entry]:
        try:
            found = list(os.scandir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return
        for item in found:
            if item.is_dir(follow_symlinks=False):
                yield from self._walk(Path(item.path))
            elif not item.name.startswith("."):
                try:
                    status = item.stat()
                except FileNotFoundError:  # removed while we looked
                    continue
                key = os.path.relpath(item.path, self._root).replace(os.sep, "/")
                yield Entry(key, status.st_size, status.st_mtime_ns)

    def _write_beside(self, key: str, parts: Sequence[bytes | memoryview]) -> Path:
        """A hidden, synced copy next to where the key belongs."""
        path = self._path(key)
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                for part in parts:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            _discard(temporary)
            raise self._store_error("write", key, error) from error
        return temporary

    def _remove_temporary_files(self, until_ns: float) -> None:
        for path in self._root.rglob(".*"):
            with contextlib.suppress(OSError):  # another process was faster
                is_ours = _TEMPORARY.fullmatch(path.name) and path.is_file()
                if is_ours and path.stat().st_mtime_ns <= until_ns:
                    path.unlink()

    def _create_without_links(self, key: str, data: bytes) -> bool:
        """For file systems that know no links: the first to make the file wins."""
        path = self._path(key)
        try:
            file = path.open("xb")
        except FileExistsError:
            return False
        except OSError as error:
            raise self._store_error("write", key, error) from error
        try:
            with file:
                file.write(data)
        except OSError as error:
            _discard(path)
            raise self._store_error("write", key, error) from error
        return True

    def _remove_empty_parents(self, path: Path) -> None:
        for parent in path.parents:
            if parent == self._root or self._root not in parent.parents:
                return
            if not _remove_if_empty(parent):
                return

    def _store_error(self, verb: str, key: str, error: OSError) -> StoreError:
        reason = error.strerror or str(error)
        return StoreError(f"Cannot {verb} {self._path(key)}: {reason.lower()}")


def _path_in(uri: str) -> str:
    if not uri.startswith("file:"):
        return uri
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost"):
        raise UsageError(f"{uri} names a machine, not a folder: write file:///{parts.netloc}…")
    return unquote(parts.path)


def _remove_if_empty(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:  # not empty, or another process was faster
        return False
    return True


def _discard(path: Path) -> None:
    with contextlib.suppress(OSError):  # what failed before is what has to be said
        path.unlink()
