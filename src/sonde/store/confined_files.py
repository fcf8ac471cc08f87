"""Write files below one folder without following a link on the way.

A job's folder may come from a stranger, and `workers` in it may be a link to somebody's files. A
check beforehand would leave time to exchange a folder for a link, so every folder on the way is
opened by itself.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

# What file systems answer that know no hard links, FUSE among them.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}

# O_PATH, where there is one, needs no right to list a folder
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
# a pipe without a reader would make us wait for ever
_FILE = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_MODE = 0o666  # less the umask


class ConfinedFiles:
    """Files of a folder; `/` separates the parts of their names. Raises OSError."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, name: str, parts: Sequence[bytes | memoryview]) -> None:
        """Replace a file whole, or leave it as it was."""
        with self._parent(name, is_made=True) as (folder, last):
            temporary = _write_beside(folder, last, parts)
            try:
                os.replace(temporary, last, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                _discard(folder, temporary)
                raise

    def create(self, name: str, data: bytes) -> bool:
        """Make a file, whole or not at all; False where the name exists."""
        with self._parent(name, is_made=True) as (folder, last):
            temporary = _write_beside(folder, last, [data])
            try:
                # fails where the name exists, so only the first wins
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
        """Write a part of a file, which is made where the part is its first."""
        is_first = offset == 0
        with self._parent(name, is_made=is_first) as (folder, last):
            flags = _FILE | (os.O_CREAT if is_first else 0)
            file = os.open(last, flags, _MODE, dir_fd=folder)
            try:
                # at its own offset, so that a write cut short by a full disk is simply made again
                _write_all(file, [data], offset)
            finally:
                os.close(file)

    def delete(self, name: str) -> bool:
        """Delete a file; False where there is none, or a link on the way to it."""
        try:
            with self._parent(name, is_made=False) as (folder, last):
                os.unlink(last, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP):
                return False
            raise
        return True

    @contextlib.contextmanager
    def _parent(self, name: str, *, is_made: bool) -> Iterator[tuple[int, str]]:
        """The opened folder of a file, and the file's name in it."""
        *folders, last = name.split("/")
        opened = self._open_root(is_made=is_made)
        try:
            for part in folders:
                inner = _open_below(opened, part, is_made=is_made)
                os.close(opened)
                opened = inner
            yield opened, last
        finally:
            os.close(opened)

    def _open_root(self, *, is_made: bool) -> int:
        try:
            return os.open(self._root, _FOLDER)
        except FileNotFoundError:
            if not is_made:
                raise
        self._root.mkdir(parents=True, exist_ok=True)
        return os.open(self._root, _FOLDER)


def _open_below(folder: int, name: str, *, is_made: bool) -> int:
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        if not is_made:
            raise
    except NotADirectoryError as error:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, f"{name} is a link, which Sonde does not follow") from error
        raise
    with contextlib.suppress(FileExistsError):  # another process was faster
        os.mkdir(name, dir_fd=folder)
    return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)


def _write_beside(folder: int, name: str, parts: Sequence[bytes | memoryview]) -> str:
    """A hidden, synced copy next to where it belongs; the name says whose it is."""
    temporary = f".{name}.{os.getpid()}-{os.urandom(4).hex()}"
    file = os.open(temporary, _FILE | os.O_CREAT | os.O_EXCL, _MODE, dir_fd=folder)
    try:
        _write_all(file, parts)
        os.fsync(file)
    except OSError:
        _discard(folder, temporary)
        raise
    finally:
        os.close(file)
    return temporary


def _create_without_links(folder: int, name: str, data: bytes) -> bool:
    """For file systems that know no links: the first to make the file wins."""
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


def _write_all(file: int, parts: Sequence[bytes | memoryview], offset: int = 0) -> None:
    for part in parts:
        rest = memoryview(part).cast("B")
        while rest:
            written = os.pwrite(file, rest, offset)
            rest, offset = rest[written:], offset + written


def _discard(folder: int, name: str) -> None:
    with contextlib.suppress(OSError):  # what failed before is what has to be said
        os.unlink(name, dir_fd=folder)
