"""Mask secrets in command lines, word by word."""

import re
from collections.abc import Sequence

from sonde.masking.names import is_perhaps_secret_name, is_secret_name
from sonde.masking.shapes import is_opaque
from sonde.masking.text import (
    LOGIN_OPTIONS,
    MASK,
    is_attached_password,
    is_password_program,
    is_secret_option,
    mask_attached,
    mask_login,
    mask_text,
    readable,
)

_ASSIGNED = re.compile(r"[\w.+~-]+")


def mask_command(words: Sequence[str]) -> tuple[str, ...]:
    """Mask secrets of a command line: after `--password`, in `--token=…`, `KEY=…` and URLs."""
    masked: list[str] = []
    takes_password = False
    previous = ""
    for word in words:
        takes_password = takes_password or is_password_program(word)
        masked.append(_mask_word(word, previous, takes_password=takes_password))
        previous = word
    return tuple(masked)


def _mask_word(word: str, previous: str, *, takes_password: bool) -> str:
    name, equals, value = word.partition("=")
    is_value = previous.startswith("-") and "=" not in previous and not word.startswith("--")
    if is_value and word and is_secret_option(previous, word, takes_password=takes_password):
        return MASK
    if takes_password and is_attached_password(word):
        return f"-p{MASK}"
    if value.strip("=") and _ASSIGNED.fullmatch(name) and _is_secret_variable(name, value):
        return f"{readable(name)}={MASK}"
    if equals and name in LOGIN_OPTIONS:
        return mask_text(f"{name}={mask_login(value)}")
    return mask_text(mask_login(word) if previous in LOGIN_OPTIONS else mask_attached(word))


def _is_secret_variable(name: str, value: str) -> bool:
    if is_secret_name(name):
        return True
    return is_perhaps_secret_name(name) and (name.isupper() or is_opaque(value))
