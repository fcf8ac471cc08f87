"""The dashboard's token: created once, stored in a file that only its owner can read.

Any user of a machine can connect to its loopback ports. Only the user can read the file, and that
user can access the jobs anyway.
"""

import contextlib
import os
import re
import secrets
import stat
from pathlib import Path

from sonde.settings import state_folder

_BYTES = 24
_MAX_BYTES = 256
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{32,128}\n?")


def new_token() -> str:
    """Create a token."""
    return secrets.token_urlsafe(_BYTES)


def load_token() -> str:
    """The user's token, created on first use; a new one for each run if it cannot be stored."""
    folder = state_folder()
    if folder is None:
        return new_token()
    try:
        return _read(folder / "token") or _create(folder / "token")
    except OSError:
        return new_token()


def _read(path: Path) -> str | None:
    """The token in a file; None if it is missing, invalid or readable by others."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(number, "rb") as file:
        facts = os.fstat(number)
        is_private = facts.st_uid == os.geteuid() and not facts.st_mode & 0o077
        if not stat.S_ISREG(facts.st_mode) or not is_private:
            return None
        content = file.read(_MAX_BYTES)
    return content.decode().strip() if _TOKEN.fullmatch(content) else None


def _create(path: Path) -> str:
    """Write a new token. If another process writes one at the same time, use that one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    token = new_token()
    draft = path.with_name(f"token-{secrets.token_hex(4)}")
    number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(number, "w") as file:
            file.write(f"{token}\n")
        try:
            os.link(draft, path)
        except OSError:  # it exists, or the file system does not support links
            stored = _read(path)
            if stored is not None:
                return stored
            draft.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()
    return token
