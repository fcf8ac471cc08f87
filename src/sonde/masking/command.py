"""Mask secrets in command lines, word by word."""

import re
from collections.abc import Sequence

from sonde.masking.names import is_perhaps_secret_name, is_secret_name
from sonde.masking.programs import is_attached_password, password_option
from sonde.masking.shapes import is_opaque
from sonde.masking.text import (
    LOGIN_OPTIONS,
    MASK,
    is_secret_option,
    mask_attached,
    mask_login,
    mask_text,
    readable,
    takes_value,
)

_ASSIGNED = re.compile(r"[\w.+~-]+")


def mask_command(words: Sequence[str]) -> tuple[str, ...]:
    """Mask secrets of a command line: after `--password`, in `--token=…`, `KEY=…` and URLs."""
    masked: list[str] = []
    password, previous = "", ""
    for word in words:
        password = password or password_option(word)
        masked.append(_mask_word(word, previous, password))
        previous = word
    return tuple(masked)


def _mask_word(word: str, previous: str, password: str) -> str:
    name, equals, value = word.partition("=")
    is_value = takes_value(previous) and not word.startswith("--")
    if is_value and word and is_secret_option(previous, word, password):
        return MASK
    if is_attached_password(word, password):
        return f"{password}{MASK}"
    if value.strip("=") and _ASSIGNED.fullmatch(name) and _is_secret_variable(name, value):
        return f"{readable(name)}={MASK}"
    if equals and name in LOGIN_OPTIONS:
        return mask_text(f"{name}={mask_login(value)}")
    return mask_text(mask_login(word) if previous in LOGIN_OPTIONS else mask_attached(word))


def _is_secret_variable(name: str, value: str) -> bool:
    if is_secret_name(name):
        return True
    return is_perhaps_secret_name(name) and (name.isupper() or is_opaque(value))
