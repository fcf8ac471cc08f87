"""Write files inside one folder without following symbolic links.

A job's folder may come from an untrusted source, and `workers` in it may be a link to other files.
Checking for links first would be a race, so every folder of a path is opened relative to its
parent.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

# Errors of file systems without hard links, such as FUSE.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}

# O_PATH, if available, needs no permission to list the folder
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: opening a pipe without a reader would block forever
_FILE = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_MODE = 0o666  # less the umask


class ConfinedFiles:
    """Writes files of a folder by their relative paths. Raises OSError."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, name: str, chunks: Sequence[bytes | memoryview]) -> None:
        """Replace a file atomically."""
        with self._parent(name, create=True) as (folder, last):
            temporary = _write_beside(folder, last, chunks)
            try:
                os.replace(temporary, last, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                _discard(folder, temporary)
                raise

    def create(self, name: str, data: bytes) -> bool:
        """Create a file atomically; return False if the name exists."""
        with self._parent(name, create=True) as (folder, last):
            temporary = _write_beside(folder, last, [data])
            try:
                # fails if the name exists, so only the first writer succeeds
                os.link(temporary, last, src_dir_fd=folder, dst_dir_fd=folder)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                return _create_without_links(folder, last, data)
            finally:
                _discard(folder, temporary)
        return True

    def write_at(self, name: str, offset: int, data: bytes) -> None:
        """Write at an offset of a file; offset 0 creates the file."""
        is_first = offset == 0
        with self._parent(name, create=is_first) as (folder, last):
            flags = _FILE | (os.O_CREAT if is_first else 0)
            file = os.open(last, flags, _MODE, dir_fd=folder)
            try:
                # at a fixed offset, so that a partial write on a full disk can be retried
                _write_all(file, [data], offset)
            finally:
                os.close(file)

    def delete(self, name: str) -> bool:
        """Delete a file; return False if it does not exist or its path contains a link."""
        try:
            with self._parent(name, create=False) as (folder, last):
                os.unlink(last, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP):
                return False
            raise
        return True

    @contextlib.contextmanager
    def _parent(self, name: str, *, create: bool) -> Iterator[tuple[int, str]]:
        """Open the folder of a file; yields the descriptor and the file's name."""
        *folders, last = name.split("/")
        opened = self._open_root(create=create)
        try:
            for folder in folders:
                inner = _open_below(opened, folder, create=create)
                os.close(opened)
                opened = inner
            yield opened, last
        finally:
            os.close(opened)

    def _open_root(self, *, create: bool) -> int:
        try:
            return os.open(self._root, _FOLDER)
        except FileNotFoundError:
            if not create:
                raise
        self._root.mkdir(parents=True, exist_ok=True)
        return os.open(self._root, _FOLDER)


def _open_below(folder: int, name: str, *, create: bool) -> int:
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    except NotADirectoryError as error:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(
                errno.ELOOP, f"{name} is a symbolic link, which is not followed"
            ) from error
        raise
    with contextlib.suppress(FileExistsError):  # another process was faster
        os.mkdir(name, dir_fd=folder)
    return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)


def _write_beside(folder: int, name: str, chunks: Sequence[bytes | memoryview]) -> str:
    """Write a hidden, synced file next to the target; its name contains the PID."""
    temporary = f".{name}.{os.getpid()}-{os.urandom(4).hex()}"
    file = os.open(temporary, _FILE | os.O_CREAT | os.O_EXCL, _MODE, dir_fd=folder)
    try:
        _write_all(file, chunks)
        os.fsync(file)
    except OSError:
        _discard(folder, temporary)
        raise
    finally:
        os.close(file)
    return temporary


def _create_without_links(folder: int, name: str, data: bytes) -> bool:
    """Create a file on file systems without hard links."""
    try:
        file = os.open(name, _FILE | os.O_CREAT | os.O_EXCL, _MODE, dir_fd=folder)
    except FileExistsError:
        return False
    try:
        _write_all(file, [data])
    except OSError:
        _discard(folder, name)
        raise
    finally:
        os.close(file)
    return True


def _write_all(file: int, chunks: Sequence[bytes | memoryview], offset: int = 0) -> None:
    for chunk in chunks:
        rest = memoryview(chunk).cast("B")
        while rest:
            written = os.pwrite(file, rest, offset)
            rest, offset = rest[written:], offset + written


def _discard(folder: int, name: str) -> None:
    with contextlib.suppress(OSError):  # the original error is reported
        os.unlink(name, dir_fd=folder)
