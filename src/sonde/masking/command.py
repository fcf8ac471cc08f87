"""Command lines, word by word."""

import re
from collections.abc import Sequence

from sonde.masking.names import is_perhaps_secret_name, is_secret_name
from sonde.masking.shapes import is_opaque
from sonde.masking.text import (
    LOGIN_OPTIONS,
    MASK,
    is_secret_option,
    mask_glued,
    mask_login,
    mask_text,
    readable,
)

# What follows their -p is a password, whatever it looks like; others mean a port, a path, a part.
_PASSWORD_PROGRAMS = re.compile(
    r"(?:.*/)?(?:mysql\w*|mariadb[\w-]*|sshpass|mongo(?:sh|dump|restore)?|docker|podman|helm"
    r"|smbclient|redis-cli|clickhouse-client)"
)
_ASSIGNED = re.compile(r"[\w.+~-]+")


def mask_command(words: Sequence[str]) -> tuple[str, ...]:
    """A command line, secrets masked: after `--password`, in `--token=…`, `KEY=…` and URLs."""
    masked: list[str] = []
    takes_password = False
    before = ""
    for word in words:
        takes_password = takes_password or bool(_PASSWORD_PROGRAMS.fullmatch(word))
        masked.append(_mask_word(word, before, takes_password=takes_password))
        before = word
    return tuple(masked)


def _mask_word(word: str, before: str, *, takes_password: bool) -> str:
    name, equals, value = word.partition("=")
    is_value = before.startswith("-") and "=" not in before and not word.startswith("--")
    if is_value and word and _takes_secret(before, word, takes_password=takes_password):
        return MASK
    if takes_password and re.fullmatch(r"-p(?!\d+:\d+$).+", word):
        return f"-p{MASK}"
    if value.strip("=") and _ASSIGNED.fullmatch(name) and _is_secret_variable(name, value):
        return f"{readable(name)}={MASK}"
    if equals and name in LOGIN_OPTIONS:
        return mask_text(f"{name}={mask_login(value)}")
    return mask_text(mask_login(word) if before in LOGIN_OPTIONS else mask_glued(word))


def _is_secret_variable(name: str, value: str) -> bool:
    if is_secret_name(name):
        return True
    return is_perhaps_secret_name(name) and (name.isupper() or is_opaque(value))


def _takes_secret(option: str, value: str, *, takes_password: bool) -> bool:
    if option == "-p" and takes_password:
        return not re.fullmatch(r"-\w*|[\d.:/]+(?:tcp|udp)?", value)  # docker run -p 80:80
    return is_secret_option(option, value)
