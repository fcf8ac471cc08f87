"""A store in a local or shared folder: a path or `file://…`."""

import contextlib
import errno
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sonde.clock import NANOSECONDS
from sonde.errors import DamagedError, KeyMissingError, NoSpaceError, StoreError, UsageError
from sonde.store.backends._backend import Backend, Entry, View
from sonde.store.confined_files import ConfinedFiles
from sonde.store.limits import check_size
from sonde.store.links import read_link

# How `ConfinedFiles` names temporary files, and when they are certainly abandoned.
_TEMPORARY = re.compile(r"\..+\.(\d+)-[0-9a-f]{8}")
_HALF_WRITTEN_SECONDS = 3600


_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


# Errors from opening a link, socket or device.
_NOT_A_FILE = {errno.ELOOP, errno.ENXIO, errno.ENODEV}
_NO_FILE = "it is a link, pipe or device instead of a file"


class Local(Backend):
    """Files in a folder. Documents are replaced atomically; segments are appended to."""

    flush_seconds = 2.0
    poll_seconds = 0.25

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._root = expand_home(_path_in(uri)).absolute()
        self._files = ConfinedFiles(self._root)
        self._root_text = f"{str(self._root).rstrip(os.sep)}{os.sep}"

    def read(self, key: str, start: int = 0, end: int | None = None) -> bytes:
        with self._open(key) as (file, size):
            if end is None:
                check_size(key, size - start)
            try:
                return _read_range(file, start, min(size, size if end is None else end))
            except OSError as error:
                raise self._store_error("read", key, error) from error

    def write(self, key: str, data: bytes) -> None:
        self.write_parts(key, [data])

    def write_parts(self, key: str, chunks: Sequence[bytes | memoryview]) -> None:
        try:
            self._files.write(self._checked(key), chunks)
        except OSError as error:
            raise self._store_error("write", key, error) from error

    def create(self, key: str, data: bytes) -> bool:
        try:
            return self._files.create(self._checked(key), data)
        except OSError as error:
            raise self._store_error("write", key, error) from error

    def append(self, key: str, offset: int, data: bytes) -> None:
        try:
            self._files.write_at(self._checked(key), offset, data)
        except FileNotFoundError as error:
            raise KeyMissingError(f"{key} no longer exists in {self.uri}") from error
        except OSError as error:
            raise self._store_error("write", key, error) from error

    def entries(self, folder: str) -> list[Entry]:
        path = self._path(folder)
        if folder and self._is_elsewhere(path):
            self.ledger.report(folder, f"{folder} is damaged: {_NO_FILE}")
            return []
        try:
            return sorted(self._walk(path), key=lambda entry: entry.key)
        except OSError as error:
            raise self._store_error("list", folder, error) from error

    def folders(self, folder: str) -> list[str]:
        path = self._path(folder)
        if folder and self._is_elsewhere(path):
            return []
        try:
            with os.scandir(path) as items:
                # a store may contain links to jobs; links inside a job are not followed
                follow = not folder
                return sorted(item.name for item in items if item.is_dir(follow_symlinks=follow))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise self._store_error("list", folder, error) from error

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            try:
                if self._files.delete(self._checked(key)):
                    self._remove_empty_parents(self._path(key))
            except OSError as error:
                raise self._store_error("delete", key, error) from error

    def erase(self, is_ours: Callable[[str], bool] = lambda _key: True) -> list[str]:
        if self.is_link():
            self._root.unlink()
            return []
        super().erase(is_ours)
        self._remove_temporary_files(float("inf"))
        for folder in sorted(self._root.rglob("*"), reverse=True):
            if _is_folder(folder) and is_ours(f"{self._key(folder)}/"):
                _remove_if_empty(folder)
        _remove_if_empty(self._root)
        return sorted(self._key(path) for path in self._root.rglob("*") if not _is_folder(path))

    def remove_if_empty(self) -> None:
        if not self.is_link():
            _remove_if_empty(self._root)

    def is_link(self) -> bool:
        return self._root.is_symlink()

    def links(self) -> list[str]:
        return sorted(self._key(path) for path in self._root.rglob("*") if path.is_symlink())

    def is_empty(self) -> bool:
        try:
            with os.scandir(self._root) as items:
                return all(_TEMPORARY.fullmatch(item.name) for item in items)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError as error:
            raise self._store_error("list", "", error) from error

    def sweep(self, now_ns: int) -> None:
        self._remove_temporary_files(now_ns - _HALF_WRITTEN_SECONDS * NANOSECONDS)

    def sweep_of(self, folder: str, is_dead: Callable[[int], bool]) -> None:
        where = self._path(folder)
        for path in () if self._is_elsewhere(where) else where.rglob(".*"):
            name = _TEMPORARY.fullmatch(path.name)
            if name and is_dead(int(name[1])) and path.is_file():
                _discard(path)

    def view(self, key: str) -> View:
        # not a memory map: truncating a mapped file kills the process
        with self._open(key) as (_, size):
            return _FileView(self, key, size)

    def free_bytes(self) -> int | None:
        status = self._usage()
        return status.free if status else None

    def size_bytes(self) -> int | None:
        status = self._usage()
        return status.total if status else None

    def exists(self, key: str) -> bool:
        try:
            with self._open(key):
                return True
        except KeyMissingError:
            return False
        except DamagedError:  # it exists; reading it reports the damage
            return True

    @contextlib.contextmanager
    def _open(self, key: str) -> Iterator[tuple[int, int]]:
        """Open a regular file of this folder for reading; yields the descriptor and the size.

        Raises:
            KeyMissingError: The file does not exist.
            DamagedError: It is a link, a pipe or a device.
        """
        path = self._file_path(key)
        try:
            # O_NONBLOCK: opening a pipe without a writer would block forever
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise KeyMissingError(f"{key} does not exist in {self.uri}") from error
        except OSError as error:
            if error.errno in _NOT_A_FILE:
                raise DamagedError(f"{key} is damaged: {_NO_FILE}") from error
            raise self._store_error("read", key, error) from error
        try:
            status = os.fstat(file)
            if stat.S_ISDIR(status.st_mode):
                raise KeyMissingError(f"{key} does not exist in {self.uri}")
            if not stat.S_ISREG(status.st_mode) or not self._is_inside(file, path):
                raise DamagedError(f"{key} is damaged: {_NO_FILE}")
            yield file, status.st_size
        finally:
            os.close(file)

    def _is_inside(self, file: int, path: str) -> bool:
        """Whether an opened file is in this folder, according to /proc if available."""
        is_inside = read_link(f"/proc/self/fd/{file}").startswith(self._real_root)
        return is_inside or not self._is_elsewhere(Path(path).parent)

    @cached_property
    def _real_root(self) -> str:
        """The resolved path of this folder, with a trailing slash."""
        return f"{os.path.realpath(self._root).rstrip(os.sep)}{os.sep}"

    def _is_elsewhere(self, folder: Path) -> bool:
        """Whether a folder resolves to a path outside of this folder."""
        real_path = os.path.realpath(folder)
        root = os.path.realpath(self._root)
        return real_path != root and not real_path.startswith(f"{root.rstrip(os.sep)}{os.sep}")

    def _path(self, key: str) -> Path:
        return Path(self._file_path(key))

    def _file_path(self, key: str) -> str:
        """The path of a key."""
        return f"{self._root_text}{self._checked(key)}"

    def _checked(self, key: str) -> str:
        """The key, if it cannot leave this folder."""
        if key.startswith("/") or ".." in key.split("/"):
            raise StoreError(f"{key!r} is not a key of {self.uri}")
        return key

    def _key(self, path: str | Path) -> str:
        return os.path.relpath(path, self._root).replace(os.sep, "/")

    def _usage(self) -> "shutil._ntuple_diskusage | None":
        for folder in (self._root, *self._root.parents):
            try:
                return shutil.disk_usage(folder)
            except OSError:  # the folder does not exist (yet): use its parent
                continue
        return None

    def _walk(self, folder: Path) -> Iterator[Entry]:
        try:
            items = list(os.scandir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return
        for item in items:
            if item.is_dir(follow_symlinks=False):
                yield from self._walk(Path(item.path))
            elif not item.name.startswith("."):
                key = self._key(item.path)
                try:
                    status = item.stat(follow_symlinks=False)
                except FileNotFoundError:  # removed meanwhile
                    continue
                if not stat.S_ISREG(status.st_mode):
                    self.ledger.report(key, f"{key} is damaged: {_NO_FILE}")
                    continue
                yield Entry(key, status.st_size, status.st_mtime_ns)

    def _remove_temporary_files(self, until_ns: float) -> None:
        for path in self._root.rglob(".*"):
            with contextlib.suppress(OSError):  # another process was faster
                is_ours = _TEMPORARY.fullmatch(path.name) and path.is_file()
                if is_ours and path.stat().st_mtime_ns <= until_ns:
                    path.unlink()

    def _remove_empty_parents(self, path: Path) -> None:
        for parent in path.parents:
            if parent == self._root or self._root not in parent.parents:
                return
            if not _remove_if_empty(parent):
                return

    def _store_error(self, verb: str, key: str, error: OSError) -> StoreError:
        reason = error.strerror or str(error)
        kind = NoSpaceError if error.errno in _NO_SPACE else StoreError
        return kind(f"Cannot {verb} {self._path(key)}: {reason.lower()}")


def expand_home(path: str) -> Path:
    """Expand `~`; like a shell, keep it if the home directory is unknown."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def _path_in(uri: str) -> str:
    if not uri.startswith("file:"):
        return uri
    address = urlsplit(uri)
    if address.netloc not in ("", "localhost"):
        raise UsageError(f"{uri} names a host, not a folder. Use file:///{address.netloc}…")
    return unquote(address.path)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _remove_if_empty(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:  # not empty, or another process was faster
        return False
    return True


def _discard(path: Path) -> None:
    with contextlib.suppress(OSError):  # the original error is reported
        path.unlink()


def _read_range(file: int, start: int, end: int) -> bytes:
    """The bytes of a range; fewer if the file ends earlier."""
    data = os.pread(file, max(end - start, 0), start)
    if len(data) >= end - start:  # the common case
        return data
    chunks = [data]
    while chunks[-1]:
        start += len(chunks[-1])
        chunks.append(os.pread(file, end - start, start))
    return b"".join(chunks)


class _FileView:
    """Random read access to a file that is not kept open."""

    def __init__(self, backend: Local, key: str, size: int) -> None:
        self.size = size
        self._backend = backend
        self._key = key

    def read(self, start: int, end: int) -> bytes:
        """The bytes of a range; fewer if the file was truncated."""
        return self._backend.read(self._key, start, end)
